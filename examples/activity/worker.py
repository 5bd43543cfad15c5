#!/usr/bin/env python3
"""An outside worker of swrun that needs nothing but Python: it performs the activities of examples/activity/thumbnail.yaml.

    swrun serve examples/activity &
    python3 examples/activity/worker.py http://127.0.0.1:7474
    swrun start demo/thumbnail --input '{"width": 4000, "height": 3000}'

It polls a queue, performs what it gets in threads, tells the server with heartbeats that it is alive and how far it has come, and
reports results and failures. SIGTERM and Ctrl-C let it finish what it has begun. Kill it, and its activities are attempted again
elsewhere once their heartbeats stay out.
"""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

QUEUE = "images"
AT_ONCE = 4


class Superseded(Exception):
    """Nobody waits for this attempt any more: another one has replaced it, its time was over, or the run has ended."""


class Refused(Exception):
    """The server does not accept a request, and would not accept it later."""


class Failed(Exception):
    """An activity that has failed; another attempt would fail too if it is final."""

    def __init__(self, kind, detail, final=False):
        super().__init__(detail)
        self.report = {"type": kind, "detail": detail, "nonRetryable": final}


class Server:
    """The operations of the HTTP API that a worker needs."""

    def __init__(self, url, token=None):
        self.url = url.rstrip("/") + "/v1/activities/"
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    def ask(self, operation, body, timeout=40):
        data = json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(self.url + operation, data, self.headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            kind, detail = problem(refused)
            if kind.endswith("/attempt-superseded"):
                raise Superseded() from None
            if refused.code < 500 and refused.code not in (408, 429):
                raise Refused(f"the server refuses {operation}: {detail}") from None
            raise OSError(detail) from None
        except (http.client.HTTPException, json.JSONDecodeError) as broken:  # something between here and the server has answered
            raise OSError(f"{type(broken).__name__}: {broken}") from None

    def insist(self, operation, body):
        """Asks again as long as the server cannot be reached: a report may be repeated."""
        pause = 0.1
        while True:
            try:
                return self.ask(operation, body)
            except OSError as broken:
                print(f"{operation}: {broken}; once more in {pause:.1f} s", file=sys.stderr, flush=True)
                time.sleep(pause)
                pause = min(2 * pause, 5)


def problem(refused):
    """What a refusal says (RFC 9457). Something between here and the server may say it in other ways."""
    try:
        told = json.loads(refused.read())
        return str(told.get("type", "")), told.get("detail", str(refused))
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return "", str(refused)


def thumbnail(task, heartbeat):
    """Pretends to scale an image, a tenth of the work at a time. What an earlier attempt has done is not done again."""
    size = task["input"]
    if not isinstance(size, dict) or size.get("width", 0) <= 0 or size.get("height", 0) <= 0:
        raise Failed("https://example.com/errors/not-an-image", "an image has a width and a height", final=True)
    done = (task.get("progress") or {}).get("tenths", 0)
    while done < 10:
        time.sleep(float(os.environ.get("WORK_SECONDS", "0.05")))
        done += 1
        heartbeat({"tenths": done})
    return {"width": 160, "height": round(160 * size["height"] / size["width"]), "attempt": task["attempt"]}


ACTIVITIES = {"thumbnail": thumbnail}


def perform(server, task):
    """Performs one activity, and reports how it has ended."""

    def heartbeat(progress):
        if server.insist("heartbeat", {"token": task["token"], "progress": progress})["cancelRequested"]:
            raise Superseded()

    try:
        function = ACTIVITIES.get(task["type"])
        if function is None:
            raise Failed("configuration", f"this worker knows no activities of the type {task['type']}")
        result = function(task, heartbeat)
        server.insist("complete", {"token": task["token"], "result": result})
        print(f"{task['run']['id']}: {task['type']} done", flush=True)
    except Superseded:
        print(f"{task['run']['id']}: {task['type']} is not wanted any more", flush=True)
    except Failed as failure:
        report(server, task, failure.report)
    except Exception as bug:  # also a result that the server refuses: the run gets to know it, and the next activity goes on
        report(server, task, {"detail": f"{type(bug).__name__}: {bug}"})


def report(server, task, failure):
    try:
        server.insist("fail", {"token": task["token"], **failure})
        print(f"{task['run']['id']}: {task['type']} failed: {failure['detail']}", flush=True)
    except Superseded:
        print(f"{task['run']['id']}: {task['type']} is not wanted any more", flush=True)
    except Refused as refused:
        print(f"{task['run']['id']}: {task['type']} cannot be reported: {refused}", file=sys.stderr, flush=True)


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: worker.py URL, for example http://127.0.0.1:7474")
    server = Server(sys.argv[1], os.environ.get("SWRUN_TOKEN"))
    stopping = threading.Event()
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: stopping.set())
    free = threading.Semaphore(AT_ONCE)
    threads = []
    name = f"{socket.gethostname()}/{os.getpid()}"
    while not stopping.is_set():
        if not free.acquire(timeout=0.2):
            continue
        try:
            found = server.ask("poll", {"queues": [QUEUE], "limit": 1, "wait": "1s", "worker": name})["activities"]
        except Refused as refused:
            raise SystemExit(str(refused)) from None
        except OSError as broken:
            print(f"poll: {broken}", file=sys.stderr, flush=True)
            stopping.wait(0.5)
            found = []
        if not found:
            free.release()
        for task in found:
            def work(task=task):
                try:
                    perform(server, task)
                finally:
                    free.release()

            threads = [t for t in threads if t.is_alive()] + [threading.Thread(target=work)]
            threads[-1].start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
