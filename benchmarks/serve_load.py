"""Many clients at once: does `limelight serve` answer each with its own numbers, refuse by its limits, and stay small?

    python benchmarks/serve_load.py --clients 50 --requests 2000

Each request is drawn from predictions, exact values, LIME with a seed of its own and removed words, for one of forty
texts, and its answer is compared with what the library itself says. Prints one line of JSON; the exit status is 1 where
an answer was wrong or an error was none of 429 and 503.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import limelight

CLOSE = 1e-9
WORDS = "the film was great awful long music story actor and but very not good bad end i loved hated it , . !".split()
REFUSED = (429, 503)


def texts(count: int) -> list[str]:
    draw = random.Random(7)
    return [f"{' '.join(draw.choices(WORDS, k=draw.randint(6, 30)))} number {k}" for k in range(count)]


def questions(given: list[str]) -> list[tuple[str, dict[str, Any], Any]]:
    """Paths, bodies, and the numbers that the answers must hold."""
    model, found = limelight.load(), []
    for k, text in enumerate(given):
        logits = model.predict_logits([text])[0]
        found.append(("predict", {"text": text}, logits))
        exact = limelight.explain(model, text, "shapley", target="positive")
        found.append(("explain", {"text": text, "methods": ["shapley"], "target": "positive"}, exact.weights))
        lime = limelight.explain(model, text, "lime", target="negative", seed=k, n_samples=300)
        asked = {"text": text, "methods": ["lime"], "target": "negative", "seed": k, "samples": 300}
        found.append(("explain", asked, lime.weights))
        alone = limelight.explain(model, text, "leave-one-out", target="positive")
        found.append(("remove", {"text": text, "removed": [0], "target": "positive"}, alone.weights[:1]))
    return found


def numbers_of(path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    if path == "predict":
        return answer["logits"]
    if path == "remove":
        return [answer["outputs"][0] - answer["outputs"][1]]
    (explanation,) = answer["comparison"]["explanations"]
    assert explanation["text"] == body["text"]
    return explanation["weights"]


class Clients:
    """All clients, and what became of their requests."""

    def __init__(self, port: int, asked: list[tuple[str, dict[str, Any], Any]]) -> None:
        self.port, self.asked = port, asked
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.seconds: list[float] = []
        self._lock = threading.Lock()

    def run(self, number: int, requests: int) -> None:
        """One client; one that is thrown out is a fault as well."""
        try:
            self._run(number, requests)
        except Exception as error:
            with self._lock:
                self.wrong.append(f"client {number}: {error!r:.200}")

    def _run(self, number: int, requests: int) -> None:
        draw = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Content-Type": "application/json", "Limelight-Client": f"client {number}"}
        for _ in range(requests):
            path, body, expected = draw.choice(self.asked)
            started = time.perf_counter()
            connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
            taken = time.perf_counter() - started
            problem = None
            if response.status == 200:
                given = np.array(numbers_of(path, body, json.loads(content)))
                if given.shape != expected.shape or np.abs(given - expected).max() > CLOSE:
                    problem = f"{path}: another answer than the library's"
            elif response.status not in REFUSED:
                problem = f"{path}: status {response.status}: {content[:200]!r}"
            with self._lock:
                self.statuses[response.status] += 1
                self.seconds.append(taken)
                if problem is not None:
                    self.wrong.append(problem)
        connection.close()


def resident(process: int) -> float:
    """MiB of memory that a process has."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def burst(port: int, asked: list[tuple[str, dict[str, Any], Any]], clients: int, requests: int) -> Clients:
    own = Clients(port, asked)
    each = [requests // clients + (k < requests % clients) for k in range(clients)]
    threads = [threading.Thread(target=own.run, args=(k, n)) for k, n in enumerate(each)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return own


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    asked = questions(texts(40))
    server = subprocess.Popen(
        [sys.executable, "-m", "limelight", "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        port = int(re.search(rb":(\d+)/", server.stdout.readline())[1])  # type: ignore[index]
        # The first requests fill what is kept between requests; growth is measured from there.
        first = burst(port, asked, options.clients, max(options.requests // 2, options.clients))
        before = resident(server.pid)
        started = time.perf_counter()
        own = burst(port, asked, options.clients, options.requests)
        wall = time.perf_counter() - started
        after = resident(server.pid)
        alive = server.poll() is None
    finally:
        server.terminate()
        _, said = server.communicate(timeout=30)
    wrong = [*first.wrong, *own.wrong]
    result = {
        "clients": options.clients,
        "requests": options.requests,
        "seconds": round(wall, 2),
        "statuses": {str(status): count for status, count in sorted(own.statuses.items())},
        "median_ms": round(1000 * float(np.median(own.seconds)), 1),
        "p95_ms": round(1000 * float(np.quantile(own.seconds, 0.95)), 1),
        "memory_before_mib": round(before, 1),
        "memory_after_mib": round(after, 1),
        "wrong": wrong[:5],
        "said": said.decode(errors="replace")[-500:] if b"Error" in said else "",
    }
    print(json.dumps(result))
    return 0 if alive and not wrong and sum(own.statuses.values()) == options.requests else 1


if __name__ == "__main__":
    sys.exit(main())
