"""What to look for in a store, and how it is proven and handed out."""

import click

from proxy.settings.setting import COUNT, FILE, FOLDER, JOBS, OUTPUT, Setting

ROWS = (
    # runs, show
    Setting("mode", "Only runs of this mode (record, replay, fork ...).", str),
    Setting("tag", "Only runs with this tag; may be repeated.", str, many=True, metavar="KEY[=VALUE]", member="tags"),
    Setting("limit", "At most so many runs.", COUNT, short="-n"),
    Setting(
        "raw",
        "Write the bytes of one body of the step to stdout, as stored.",
        click.Choice(("request", "response")),
    ),
    Setting("html", "Write the run as one self-contained page to this file, or - for stdout.", str, metavar="FILE"),
    # find
    Setting("regex", "PATTERN is a regular expression.", flag=True),
    Setting("find-host", "Only steps that went to this host; * for any letters.", str, flag_name="host"),
    Setting("tool", "Only steps of this tool; * for any letters.", str),
    Setting("since", "Only runs opened since: 30d, 12h, or a date.", str),
    Setting(
        "empty",
        "Only steps whose answer has nothing at this JSON Pointer; '' is all of it.",
        str,
        metavar="POINTER",
    ),
    Setting("reports", "Write each run that was found as a page into this folder.", FOLDER, metavar="FOLDER"),
    # verify
    Setting(
        "pin",
        "Verifier key (vkey, or a file that holds one) that signatures must be of.",
        str,
        short="--key",
        member="key",
    ),
    Setting("held", "A signed checkpoint that you kept elsewhere; the log must still lead to it.", FILE),
    Setting("deep", "Derive what events say of bodies (class, model, usage ...) from these again.", flag=True),
    Setting(
        "jobs",
        "Processes that work at once; a verification takes as many as there are cores, where the store is large.",
        JOBS,
        short="-j",
    ),
    Setting("policy", "What you ask for and whom you trust, as a TOML file (docs/anchors.md).", FILE),
    Setting("strict", "Exit 10 when the proof holds but a flag is up.", flag=True),
    # export
    Setting("output", "File to write the bundle to.", OUTPUT, short="-o"),
    Setting("proofs", "One inclusion proof a leaf of these runs, not the whole log: it names no other run.", flag=True),
    Setting("checkpoint", "Export at the checkpoint of this size; else at the first that fits.", COUNT),
    Setting("full-log", "All leaves up to the checkpoint; this is the default.", flag=True),
    Setting("without-bodies", "Leave out what was said; the commitments stay.", flag=True),
    Setting("verifier", "Write the stand-alone verifier alone to this file, and print its SHA-256.", OUTPUT),
)
