"""The command line: reads what was asked, calls the library, shows the result. No mathematics here.

One file per command. The library itself is imported inside the commands: --help answers before torch has woken up.
"""

from __future__ import annotations

from limelight.cli import corpus, evaluate, explain, methods, reproduce, serve, show, train
from limelight.cli.application import app, main

app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=show.EXAMPLES)(show.show)
app.command()(methods.methods)
app.command(epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command(epilog=serve.EXAMPLES)(serve.serve)
app.command(epilog=train.EXAMPLES)(train.train)
app.command()(reproduce.reproduce)
app.add_typer(corpus.app)

__all__ = ["app", "main"]
