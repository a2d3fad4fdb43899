"""The command line: parse, call a job, print, exit with the code of the contract (see errors.py). No work is done here.

guard.py   errors become messages and exit codes        options.py   what several commands take
The other files are the commands. Heavy libraries load inside the command that needs them, so that --help is instant.
"""

from __future__ import annotations

import typer

from srlite.cli import assess, data, doctor, export, judge, models, purge, report, review, training, using

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn to describe item-specific behaviour in clips from clinical outcomes. "
    "An observation aid for research and pilots, not a diagnostic device.",
)
models_app = typer.Typer(no_args_is_help=True, help="The models that srlite knows, and those that are here.")
judge_app = typer.Typer(no_args_is_help=True, help="The judge.")
review_app = typer.Typer(no_args_is_help=True, help="What people say of descriptions.")
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
    purge.purge,
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
for _name, _command in (
    ("add", review.review_add),
    ("verify", review.review_verify),
    ("labels", review.review_labels),
    ("references", review.review_references),
):
    review_app.command(_name)(_command)
prompts_app.command("diversify")(judge.prompts_diversify)
app.add_typer(models_app, name="models")
app.add_typer(judge_app, name="judge")
app.add_typer(review_app, name="review")
app.add_typer(prompts_app, name="prompts")


@judge_app.callback()
@prompts_app.callback()
def _group() -> None:
    pass


def main() -> None:
    """The console script."""
    app()
