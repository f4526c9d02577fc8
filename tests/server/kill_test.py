"""kill -9 at random moments while small jobs run: no job is lost, and none is in the history twice."""

import os
import random
import sqlite3
import sys
import threading
import time

from client import Server, simple_prompt

PROGRAM = sys.argv[1]
JOBS, KILLS = 200, 50


def main():
    chance = random.Random(5)
    server = Server(PROGRAM).start()
    accepted, lock, stop = {}, threading.Lock(), threading.Event()

    def post_all():
        number = 0
        while number < JOBS and not stop.is_set():
            try:
                body = {"prompt": simple_prompt(number + 1), "idempotency_key": f"job-{number}"}
                answer = server.post("/prompt", body, timeout=5)
            except Exception:  # the server is down at this moment
                time.sleep(0.005)
                continue
            if answer.status == 200:
                with lock:
                    accepted[f"job-{number}"] = answer.json["prompt_id"]
                number += 1

    poster = threading.Thread(target=post_all)
    poster.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.0, 0.06))
        server.kill()
        server.start()
    poster.join(120)
    stop.set()
    end = time.time() + 60
    while server.get("/prompt").json["exec_info"]["queue_remaining"] > 0 and time.time() < end:
        time.sleep(0.05)
    history = server.get("/history").json
    problems = []
    if len(accepted) != JOBS:
        problems.append(f"{len(accepted)} of {JOBS} accepted")
    missing = [i for i in accepted.values() if i not in history]
    if missing:
        problems.append(f"{len(missing)} jobs are not in the history")
    failed = [i for i in history if history[i]["status"]["status_str"] != "success"]
    if failed:
        problems.append(f"{len(failed)} jobs failed: {history[failed[0]]['status']}")
    if len(history) != JOBS:
        problems.append(f"{len(history)} entries in the history")
    server.stop()
    database = sqlite3.connect(os.path.join(server.base, "data", "jobs.db"))
    if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        problems.append("the database is broken")
    repeated = database.execute("SELECT COUNT(*) FROM (SELECT id FROM jobs GROUP BY id HAVING COUNT(*) > 1)").fetchone()[0]
    if repeated:
        problems.append(f"{repeated} jobs are there twice")
    cut = database.execute("SELECT COUNT(*) FROM jobs WHERE attempts > 0").fetchone()[0]
    database.close()
    server.__exit__()
    print(f"{KILLS} kills, {JOBS} jobs, {cut} of them cut short and run again")
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


sys.exit(main())
