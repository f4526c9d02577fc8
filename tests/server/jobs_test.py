"""Queue, history, cancelling and what survives a restart."""

import concurrent.futures
import os
import resource
import sys
import time
import unittest

from client import Server, simple_prompt, slow_prompt

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]


def post(server, prompt, **more):
    answer = server.post("/prompt", {"prompt": prompt, **more})
    assert answer.status == 200, answer.body
    return answer.json["prompt_id"]


def until(condition, timeout=120):
    end = time.time() + timeout
    while not condition():
        if time.time() > end:
            raise TimeoutError
        time.sleep(0.01)


class Jobs(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM).start()
        self.addCleanup(self.server.__exit__)

    def running(self):
        return [item[1] for item in self.server.get("/queue").json["queue_running"]]

    def begin(self, prompt, **more):
        """Posts a prompt and returns once its run has begun: from then on the job database knows of it."""
        socket = self.server.socket("watcher")
        identity = post(self.server, prompt, client_id="watcher", **more)
        while socket.next()["type"] != "execution_start":
            pass
        socket.close()
        return identity

    def hold(self, **more):
        """A job that runs until it is stopped."""
        return self.begin(slow_prompt(10000, 0.02, 7), **more)

    def test_jobs_run_in_order_of_their_numbers(self):
        held = self.hold()
        for name, more in (("b", {"number": 5}), ("c", {"front": True}), ("a", {"number": -100.5}), ("d", {})):
            post(self.server, simple_prompt(ord(name)), prompt_id=name, **more)
        waiting = [item[1] for item in self.server.get("/queue").json["queue_pending"]]
        self.assertEqual(waiting, ["a", "c", "d", "b"])
        self.server.post("/interrupt", {"prompt_id": held})
        self.server.wait("b")
        self.assertEqual(list(self.server.get("/history").json), [held, "a", "c", "d", "b"])

    def test_a_number_for_an_id_interrupts_that_job_only(self):
        held = self.hold(prompt_id=12345)
        self.assertEqual(held, "12345")
        self.server.post("/interrupt", {"prompt_id": 1234})
        for wrong in (True, [12345], {"id": 12345}):
            self.assertEqual(self.server.post("/interrupt", {"prompt_id": wrong}).status, 400, wrong)
        time.sleep(0.3)
        self.assertEqual(self.running(), [held])
        self.assertEqual(self.server.post("/interrupt", {"prompt_id": 12345}).status, 200)
        self.assertEqual(self.server.wait(held)["status"]["messages"][-1][0], "execution_interrupted")

    def test_wrong_kinds_are_refused(self):
        for path, body in (("/queue", "[]"), ("/queue", "3"), ("/prompt", {"prompt": simple_prompt(1), "idempotency_key": 5}),
                           ("/jobs/cancel", {"job_ids": "x"})):
            self.assertEqual(self.server.post(path, body).status, 400, (path, body))
        self.assertIn("job_ids", self.server.post("/jobs/cancel", {"job_ids": "x"}).json["error"]["message"])

    def test_many_posts_with_one_key_at_once_are_one_job(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for round_ in range(10):
                send = lambda _: self.server.post("/prompt", {"prompt": simple_prompt(round_)}, headers={"Idempotency-Key": f"k{round_}"})
                answers = list(pool.map(send, range(16)))
                self.assertEqual({answer.status for answer in answers}, {200})
                self.assertEqual(len({answer.body for answer in answers}), 1)
                self.assertEqual(sum(answer.headers.get("Idempotent-Replay") == "true" for answer in answers), 15)

    def test_cancelling_touches_no_other_job(self):
        held = self.hold()
        post(self.server, simple_prompt(1), prompt_id="next")
        self.assertEqual(self.server.post("/jobs/nope/cancel").status, 404)
        self.assertEqual(self.server.post(f"/jobs/{held}/cancel").status, 200)
        self.assertEqual(self.server.post(f"/jobs/{held}/cancel").status, 200)
        self.assertEqual(self.server.wait("next")["status"]["status_str"], "success")
        self.assertEqual(self.server.post("/jobs/next/cancel").status, 409)
        self.assertEqual(self.server.wait(held)["status"]["messages"][-1][0], "execution_interrupted")
        self.assertEqual(self.server.get(f"/jobs/{held}").json["status"], "cancelled")

    def test_a_cancelled_waiting_job_never_runs(self):
        held = self.hold()
        post(self.server, simple_prompt(2), prompt_id="w1")
        post(self.server, simple_prompt(3), prompt_id="w2")
        self.assertEqual(self.server.post("/jobs/cancel", {"job_ids": ["w1", "nope"]}).json, {"cancelled": ["w1"]})
        self.server.post("/interrupt")
        self.server.wait("w2")
        self.assertEqual(list(self.server.get("/history").json), [held, "w2"])
        jobs = self.server.get("/jobs?status=cancelled").json
        self.assertEqual({job["id"] for job in jobs["jobs"]}, {held, "w1"})
        self.assertEqual(jobs["pagination"], {"offset": 0, "limit": 200, "total": 2, "has_more": False})

    def test_an_interrupt_of_one_job_in_its_last_step_loses_none(self):
        web = self.server.socket("last")
        ids = []
        for round_number in range(200):
            first = post(self.server, slow_prompt(2, 0.001, 1000 + round_number), client_id="last")
            second = post(self.server, simple_prompt(round_number + 1))
            while True:
                message = web.next()
                if isinstance(message, dict) and message["type"] == "progress" and message["data"]["prompt_id"] == first and message["data"]["value"] >= 1:
                    break
            self.server.post("/interrupt", {"prompt_id": first})
            ids.append((first, second))
        self.server.wait(ids[-1][1])
        until(lambda: self.server.get("/prompt").json["exec_info"]["queue_remaining"] == 0)
        history = self.server.get("/history").json
        self.assertEqual(len(history), 400)
        for first, second in ids:
            self.assertEqual(history[second]["status"]["status_str"], "success")
            ends = [kind for kind, _ in history[first]["status"]["messages"] if kind in ("execution_success", "execution_interrupted", "execution_error")]
            self.assertEqual(len(ends), 1, ends)
            self.assertEqual(history[first]["status"]["status_str"] == "success", ends == ["execution_success"])
        web.close()

    def test_an_interrupt_while_idle_does_not_hit_the_next_job(self):
        self.server.post("/interrupt")
        self.assertEqual(self.server.wait(post(self.server, simple_prompt(4)))["status"]["status_str"], "success")

    def test_a_full_queue_is_429(self):
        with Server(PROGRAM, "max_queue=2") as small:
            post(small, slow_prompt(10000, 0.02, 1))
            until(lambda: small.get("/queue").json["queue_running"])
            post(small, simple_prompt(1))
            post(small, simple_prompt(2))
            refused = small.post("/prompt", {"prompt": simple_prompt(3)})
            self.assertEqual((refused.status, refused.json["error"]["type"]), (429, "queue_full"))
            small.post("/interrupt")

    def test_a_key_has_its_own_share_of_the_queue(self):
        key = {"Authorization": "Bearer secret-secret-secret"}
        with Server(PROGRAM, "key=secret-secret-secret", "max_queue_per_key=1") as small:
            for status in (200, 200, 429):
                self.assertEqual(small.post("/prompt", {"prompt": slow_prompt(10000, 0.02, status)}, headers=key).status, status)
                until(lambda: small.get("/queue", headers=key).json["queue_running"])
            small.post("/interrupt", headers=key)

    def test_the_same_idempotency_key_is_one_job(self):
        body = {"prompt": simple_prompt(5), "idempotency_key": "k1"}
        first, second = (self.server.post("/prompt", body) for _ in range(2))
        self.assertEqual(first.json, second.json)
        self.assertEqual(second.headers.get("Idempotent-Replay"), "true")
        self.server.wait(first.json["prompt_id"])
        self.assertEqual(len(self.server.get("/history").json), 1)

    def test_a_reused_prompt_id_has_one_entry_in_its_old_place(self):
        for color, name in ((1, "x"), (2, "y"), (3, "x")):
            post(self.server, simple_prompt(color), prompt_id=name)
        until(lambda: self.server.get("/history").json.get("x", {}).get("prompt", [0])[0] == 2)
        self.assertEqual(list(self.server.get("/history").json), ["x", "y"])

    def test_a_dropped_output_makes_the_job_partial(self):
        prompt = simple_prompt(6)
        prompt["9"] = {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}
        answer = self.server.post("/prompt", {"prompt": prompt})
        self.assertEqual(list(answer.json["node_errors"]), ["9"])
        entry = self.server.wait(answer.json["prompt_id"])
        self.assertEqual(list(entry["status"]["dropped_outputs"]), ["9"])
        job = self.server.get(f"/jobs/{answer.json['prompt_id']}").json
        self.assertEqual((job["status"], list(job["dropped_outputs"])), ("completed", ["9"]))

    def test_validation_alone_changes_nothing(self):
        before = self.server.post("/prompt", {"prompt": simple_prompt(1)}).json["number"]
        self.assertEqual(self.server.post("/prompt/validate", {"prompt": simple_prompt(1)}).json, {"outputs": ["2"], "node_errors": {}})
        self.assertEqual(self.server.post("/prompt/validate", {"prompt": {}}).status, 400)
        self.assertEqual(self.server.post("/prompt", {"prompt": simple_prompt(1)}).json["number"], before + 1)

    def test_strict_validation_refuses_dropped_outputs(self):
        prompt = simple_prompt(6)
        prompt["9"] = {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "nope.safetensors"}}
        prompt["8"] = {"class_type": "VAEDecode", "inputs": {"samples": ["9", 0], "vae": ["9", 2]}}
        prompt["7"] = {"class_type": "SaveImage", "inputs": {"images": ["8", 0], "filename_prefix": "x"}}
        with Server(PROGRAM, "strict") as strict:
            refused = strict.post("/prompt", {"prompt": prompt})
            self.assertEqual(refused.status, 400)
            errors = refused.json["node_errors"]["9"]["errors"]
            self.assertEqual((errors[0]["extra_info"]["input_name"], errors[0]["extra_info"]["received_value"]), ("ckpt_name", "nope.safetensors"))
            self.assertEqual(strict.get("/history").json, {})

    def test_history_windows(self):
        ids = [post(self.server, simple_prompt(i), prompt_id=f"h{i}") for i in range(5)]
        self.server.wait("h4")
        window = lambda query: list(self.server.get("/history" + query).json)
        self.assertEqual(window(""), ids)
        self.assertEqual(window("?max_items=2"), ids[-2:])
        self.assertEqual(window("?max_items=2&offset=1"), ids[1:3])
        self.assertEqual(window("?offset=3"), ids[3:])
        self.assertEqual(window("?offset=9"), [])
        self.assertEqual(window("?max_items=0"), [])
        self.assertEqual(self.server.get("/history?max_items=x").status, 400)
        self.server.post("/history", {"delete": ["h1", "h3"]})
        self.assertEqual(window(""), ["h0", "h2", "h4"])
        self.server.post("/history", {"clear": True})
        self.assertEqual(window(""), [])

    def test_waiting_jobs_run_after_a_restart(self):
        held = self.hold()
        post(self.server, simple_prompt(7), prompt_id="later", client_id="c")
        self.server.kill()
        self.server.options = ("on_restart=report",)
        self.server.start()
        self.assertEqual(self.server.wait("later")["status"]["status_str"], "success")
        entry = self.server.wait(held)
        self.assertEqual(entry["status"]["messages"][0][1]["exception_type"], "ServerRestart")

    def test_a_job_that_was_cut_short_runs_again(self):
        identity = self.begin(slow_prompt(20, 0.05, 3))
        self.server.kill()
        self.server.start()
        entry = self.server.wait(identity)
        self.assertEqual((entry["status"]["status_str"], entry["status"]["runs_cut_short"]), ("success", 1))

    def test_draining_finishes_what_runs_and_keeps_what_waits(self):
        identity = self.begin(slow_prompt(20, 0.02, 4))
        post(self.server, simple_prompt(8), prompt_id="kept")
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.assertEqual(self.server.wait("kept")["status"]["status_str"], "success")
        self.assertNotIn("runs_cut_short", self.server.wait(identity)["status"])

    def test_a_disk_that_takes_nothing_is_told_and_the_jobs_are_true_all_the_same(self):
        held = self.hold()
        before = resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        self.server.post("/interrupt", {"prompt_id": held})
        until(lambda: self.server.get(f"/jobs/{held}").json["status"] == "cancelled")
        self.assertTrue(self.server.get(f"/jobs/{held}").json["unwritten"])
        self.assertEqual([(job["id"], job["unwritten"]) for job in self.server.get("/jobs?status=cancelled").json["jobs"]], [(held, True)])
        self.assertEqual(self.server.get("/jobs?status=in_progress").json["jobs"], [])
        self.assertTrue(self.server.get("/history").json[held]["unwritten"])
        for answer in (self.server.get("/ready"), self.server.post("/history", {"clear": True}), self.server.post("/history", {"delete": [held]}),
                       self.server.post("/prompt", {"prompt": simple_prompt(1)})):
            self.assertEqual((answer.status, answer.json["error"]["type"]), (503, "storage"))
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, before)
        until(lambda: self.server.get("/ready").status == 200)
        self.assertNotIn("unwritten", self.server.get(f"/jobs/{held}").json)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.get(f"/jobs/{held}").json["status"], "cancelled")
        self.assertEqual(self.server.post("/history", {"clear": True}).status, 200)
        self.assertEqual(self.server.get("/history").json, {})

    def test_free_forgets_cached_results(self):
        self.server.wait(post(self.server, simple_prompt(9)))
        self.assertEqual(self.server.post("/free", {"unload_models": True, "free_memory": True}).status, 200)
        entry = self.server.wait(post(self.server, simple_prompt(9)))
        self.assertEqual(entry["status"]["messages"][1][1]["nodes"], [])

    def test_the_second_run_of_a_graph_lists_the_same_files(self):
        first, second = (self.server.wait(post(self.server, simple_prompt(10)))["outputs"] for _ in range(2))
        self.assertEqual(first, second)

    def test_a_picture_that_was_deleted_is_saved_again(self):
        first = self.server.wait(post(self.server, simple_prompt(11)))["outputs"]["2"]["images"][0]
        path = f"/view?filename={first['filename']}&type=output"
        before = self.server.get(path).body
        os.remove(os.path.join(self.server.base, "output", first["filename"]))
        entry = self.server.wait(post(self.server, simple_prompt(11)))
        self.assertEqual(entry["status"]["messages"][1][1]["nodes"], ["1"])
        again = entry["outputs"]["2"]["images"][0]
        self.assertEqual(self.server.get(f"/view?filename={again['filename']}&type=output").body, before)

    def test_many_clients_are_all_answered(self):
        def client(number):
            return [post(self.server, simple_prompt(0), prompt_id=f"{number}-{i}") for i in range(40)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = sum(pool.map(client, range(8)), [])
        until(lambda: self.server.get("/prompt").json["exec_info"]["queue_remaining"] == 0)
        self.assertEqual(set(self.server.get("/history").json), set(ids))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
