#!/usr/bin/env python3
"""Trivial prompts per second: CLIENTS processes post COUNT prompts each (EmptyImage -> PreviewImage), one after another, until all have ended.

usage: server_throughput.py TESTING_SERVER [CLIENTS [COUNT [--fresh]]] [--option=NAME[=VALUE] ...]; --fresh: every prompt draws and saves a picture of its
own; options are the testing server's (wait_for_disk, workers=2, ...)"""

import json
import multiprocessing
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "server"))
from client import Server  # noqa: E402


def request(color):
    prompt = {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 16, "batch_size": 1, "color": color}},
              "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
    body = json.dumps({"prompt": prompt}).encode()
    return b"POST /prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


def work(port, number, count, fresh, results):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        latencies, failures = [], 0
        data = request(0)
        for i in range(count):
            if fresh:
                data = request(number * count + i + 1)
            begin = time.perf_counter()
            connection.sendall(data)
            answer = connection.recv(65536)
            latencies.append(time.perf_counter() - begin)
            failures += not answer.startswith(b"HTTP/1.1 200")
    results.put((latencies, failures))


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] * 1000


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = [a.removeprefix("--option=") for a in sys.argv[1:] if a.startswith("--option=")]
    fresh = "--fresh" in sys.argv
    clients, count = int(arguments[1]) if len(arguments) > 1 else 8, int(arguments[2]) if len(arguments) > 2 else 5000
    with Server(arguments[0], *options) as server:
        pid = server.process.pid
        memory = lambda: int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        cpu = lambda: sum(int(x) for x in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
        results = multiprocessing.Queue()
        before, began, used = memory(), time.perf_counter(), cpu()
        processes = [multiprocessing.Process(target=work, args=(server.port, n, count, fresh, results)) for n in range(clients)]
        for process in processes:
            process.start()
        outcomes = [results.get() for _ in processes]
        posted = time.perf_counter() - began
        while server.get("/prompt").json["exec_info"]["queue_remaining"]:
            time.sleep(0.01)
        total = time.perf_counter() - began
        latencies = sum((outcome[0] for outcome in outcomes), [])
        rate = clients * count / total
        # A prompt that is asked for again, as clients without a seed of their own do.
        verdict = "" if fresh else f" (target: 2000: {'met' if rate >= 2000 else 'NOT MET'})"
        what = "a picture each" if fresh else "the same prompt"
        print(f"server, {what}, {clients} clients x {count} prompts: {rate:.0f} prompts/s{verdict}, {clients * count / posted:.0f} posts/s, "
              f"post p50 {percentile(latencies, 0.5):.2f} ms, p99 {percentile(latencies, 0.99):.2f} ms, failures {sum(o[1] for o in outcomes)}, "
              f"server CPU {(cpu() - used) / (clients * count) * 1e6:.0f} us per prompt, memory {before:.0f} -> {memory():.0f} MiB")


if __name__ == "__main__":
    main()
