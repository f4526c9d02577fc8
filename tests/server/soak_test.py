"""Trivial prompts without end: every one is answered, memory stays flat, and a client that never reads costs the others nothing.

As a test it runs a few thousand prompts. VENEER_SOAK_SECONDS=300 makes it run that long, a day's traffic (one prompt a second) and more, and prints what
it saw; VENEER_SOAK_PROMPTS sets the number of prompts that each of eight clients posts."""

import json
import os
import socket
import sys
import threading
import time

from client import Server, Socket
from demo_models import resident_kib

PROGRAM = sys.argv[1]
SECONDS = float(os.environ.get("VENEER_SOAK_SECONDS", "0"))
PROMPTS = int(os.environ.get("VENEER_SOAK_PROMPTS", "250"))
CLIENTS = 8


def request(color):
    prompt = {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 16, "batch_size": 1, "color": color}},
              "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
    body = json.dumps({"prompt": prompt, "client_id": "deaf"}).encode()
    return b"POST /prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


class Client(threading.Thread):
    """Posts prompts one after another on one connection; every fourth one draws a picture of its own."""

    def __init__(self, port, number, rounds, until):
        super().__init__()
        self.port, self.number, self.rounds, self.until = port, number, rounds, until
        self.accepted, self.failures = 0, []

    def run(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                i = 0
                while i < self.rounds or time.time() < self.until:
                    i += 1
                    connection.sendall(request(self.number * 1000003 + i if i % 4 == 0 else 1))
                    answer = connection.recv(65536)
                    if answer.startswith(b"HTTP/1.1 200"):
                        self.accepted += 1
                    elif answer.startswith(b"HTTP/1.1 429"):
                        time.sleep(0.05)  # they post faster than the machine runs them: once more
                        i -= 1
                    else:
                        self.failures.append(answer[:300])
        except Exception as error:  # told below
            self.failures.append(repr(error))


def idle(server):
    while server.get("/prompt").json["exec_info"]["queue_remaining"]:
        time.sleep(0.02)


def run(server, rounds, seconds):
    clients = [Client(server.port, n, rounds, time.time() + seconds) for n in range(CLIENTS)]
    for client in clients:
        client.start()
    samples = [resident_kib(server.process.pid)]
    while any(client.is_alive() for client in clients):
        time.sleep(0.2)
        samples.append(resident_kib(server.process.pid))
    idle(server)
    failures = sum((client.failures for client in clients), [])
    assert not failures, failures[:3]
    return sum(client.accepted for client in clients), samples


def main():
    with Server(PROGRAM, "client_buffer=1048576", "max_queue=2000") as server:
        # All messages go to a client that never reads one.
        deaf = Socket(server.port, "/ws?clientId=deaf")
        warm, _ = run(server, PROMPTS // 2, 0)
        before = resident_kib(server.process.pid)
        begin = time.time()
        count, samples = run(server, PROMPTS // 2, SECONDS)
        took = time.time() - begin
        after = resident_kib(server.process.pid)
        states = server.get("/metrics").body.decode()
        done = int(next(line.rsplit(" ", 1)[1] for line in states.splitlines() if line.startswith('veneer_jobs_total{state="succeeded"}')))
        print(f"{count} prompts in {took:.1f} s: {count / took:.0f}/s; resident {before / 1024:.1f} -> {samples[len(samples) // 2] / 1024:.1f} -> {after / 1024:.1f} MiB, at most {max(samples + [after]) / 1024:.1f}")
        assert done == warm + count, (done, warm, count)
        assert "state=\"failed\"" not in states
        # What grows with the number of prompts would be seen: a day's worth of a hundred bytes each is 8 MiB.
        assert after <= before + 8 * 1024, (before, after)
        deaf.close()
    print("ok")


main()
