"""The command line: parse, call a job, print, exit with the code of the contract (see errors.py). No work is done here.

guard.py   errors become messages and exit codes        options.py   what several commands take
The other files are the commands. Heavy libraries load inside the command that needs them, so that --help is instant.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from srlite.cli import assess, data, doctor, export, judge, models, report, training, using
from srlite.errors import UsageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn to describe item-specific behaviour in clips from clinical outcomes. "
    "An observation aid for research and pilots, not a diagnostic device.",
)
models_app = typer.Typer(no_args_is_help=True, help="The models that srlite knows, and those that are here.")
judge_app = typer.Typer(no_args_is_help=True, help="The judge.")
prompts_app = typer.Typer(no_args_is_help=True, help="The item prompts.")

for _command in (
    data.check,
    data.init,
    training.train,
    assess.assess,
    using.evaluate,
    using.demo,
    export.export,
    report.report,
    doctor.doctor,
):
    app.command()(_command)
for _name, _command in (
    ("list", models.models_list),
    ("pull", models.models_pull),
    ("verify", models.models_verify),
    ("export", models.models_export),
    ("import", models.models_import),
):
    models_app.command(_name)(_command)
judge_app.command("check")(judge.judge_check)
prompts_app.command("diversify")(judge.prompts_diversify)
app.add_typer(models_app, name="models")
app.add_typer(judge_app, name="judge")
app.add_typer(prompts_app, name="prompts")


def _not_built(name: str) -> Callable:
    def command(context: typer.Context) -> None:
        typer.echo(f"srlite {name} is not built yet.", err=True)
        raise typer.Exit(UsageError.exit_code)

    command.__doc__ = "Not built yet."
    return command


_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
for _name in ("purge",):
    app.command(_name, context_settings=_ANYTHING)(_not_built(_name))


@judge_app.callback()
@prompts_app.callback()
def _group() -> None:
    pass


def main() -> None:
    """The console script."""
    app()
