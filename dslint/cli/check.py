"""The flags of ``dslint check``."""

from __future__ import annotations

from typing import Any

import click

from dslint.cli.options import launch_options, workspace_of
from dslint.cli.session import Options, run
from dslint.faults import Fault

OUTPUTS = ["text", "concise", "json", "sarif", "github", "gitlab", "junit"]


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILES|DIRS|-]...")
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely; the exit code speaks of what remains.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also repairs that change what is trained.")
@click.option("--diff", is_flag=True, help="Show what --fix would change and write nothing; exit 1 when there is a difference.")
@click.option("--verify", is_flag=True, help="Then train a few real steps with each DeepSpeed config.")
@click.option("--format", "output", type=click.Choice(OUTPUTS), default="text", help="How findings are shown.")
@click.option("--output-file", metavar="FILE", help="Write the findings to FILE instead.")
@click.option("--statistics", is_flag=True, help="Show how often each code was found, in place of the findings.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these codes, prefixes or names (comma separated).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these; CODE@path for one place.")
@click.option(
    "--changed", is_flag=False, flag_value="HEAD", metavar="[REV]", help="Only files that differ from REV (HEAD), as git sees it."
)
@click.option("--baseline", metavar="FILE", help="Only what is new: not the findings that FILE has accepted.")
@click.option("--write-baseline", metavar="FILE", help="Accept all that is found now: write it to FILE, and exit 0.")
@click.option("--strict", is_flag=True, help="Warnings, and a verification without a verdict, count as errors.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even when errors are found.")
@click.option("--launch", is_flag=True, help="FILES belong to one launch: each is checked against what the others say.")
@launch_options
@click.option("--stdin-filename", metavar="NAME", help="The name that stands for standard input (-).")
@click.option("--skip-unknown", is_flag=True, help="Pass over named files of no known format.")
@click.option(
    "--verify-timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="SECONDS", help="Limit of one verification."
)
def command(files: tuple[str, ...], **flags: Any) -> int:
    """Check FILES, the configs in DIRS, or standard input (-); the current directory by default."""
    options = Options(
        fix=flags["fix"],
        unsafe=flags["unsafe_fixes"],
        diff=flags["diff"],
        verify=flags["verify"],
        output=flags["output"],
        strict=flags["strict"],
        exit_zero=flags["exit_zero"],
        skip_unknown=flags["skip_unknown"],
        launch=flags["launch"],
        stdin_name=flags["stdin_filename"] or "<stdin>",
        max_bytes=flags["max_bytes"],
        verify_timeout=flags["verify_timeout"],
        output_file=flags["output_file"],
        statistics=flags["statistics"],
        write_baseline=flags["write_baseline"],
        changed=flags["changed"],
    )
    if options.unsafe and not (options.fix or options.diff):
        raise Fault("--unsafe-fixes says which repairs --fix makes: add --fix or --diff")
    if options.diff and options.verify:
        raise Fault("--diff only shows the difference: leave out --verify, or repair with --fix --verify")
    if options.statistics and options.output not in ("text", "concise"):
        raise Fault(f"--statistics is for people: leave out --format {options.output}")
    if options.write_baseline and (options.fix or options.diff or options.verify or flags["baseline"]):
        raise Fault("--write-baseline accepts what is found and does nothing else: leave out --fix, --diff, --verify and --baseline")
    if options.diff and options.output_file:
        raise Fault("--diff shows the difference on standard output: leave out --output-file")
    return run(files or (".",), workspace_of(flags), options)
