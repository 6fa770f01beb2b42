"""How long what is kept, by whom it is signed, and who outside confirms it."""

from pathlib import Path

import click

from proxy.settings.setting import COUNT, FILE, LONG, Setting, account

ROWS = (
    # erase, hold, prune, retention, export
    Setting("step", "Only the bodies of this step.", COUNT),
    Setting("why", "Why, in a few words; it is kept in the log for ever.", str, short="--reason", member="reason"),
    Setting("by", "Who asks for it, or says it.", str, account, "the account's name"),
    Setting("dry-run", "Say what would be done, and do nothing.", flag=True),
    Setting("remove", "Take this tag off; may be repeated.", str, many=True, metavar="KEY", member="removed"),
    Setting("release", "End the hold.", flag=True),
    # annotate
    Setting("seq", "The event that is meant, by its number in the run.", click.IntRange(min=0)),
    Setting("text", "What is said; without it and --text-file, what stdin gives.", str, short="-t"),
    Setting("text-file", "A file with what is said, or - for stdin.", click.Path(allow_dash=True, path_type=Path)),
    Setting("kind", "What it is: comment, approval, objection, incident, or another short word.", str, "comment"),
    Setting(
        "corrects", "The number of the annotation of this event that it takes the place of.", click.IntRange(min=0)
    ),
    # prune
    Setting("older-than", "Runs that ended longer ago: 90d, 12w, 6mo, 5y.", str, metavar="AGE"),
    Setting("keep-last", "But not the so many newest recorded runs.", click.IntRange(min=0), metavar="N"),
    Setting("yes", "Do it without asking.", short="-y", flag=True),
    # checkpoint
    Setting("to", "A folder, git:FOLDER (committed there), or - for stdout.", str, "-", metavar="WHERE"),
    Setting("tsa", "Address of a time stamp authority (RFC 3161); may be repeated.", str, many=True, metavar="URL"),
    Setting("tsa-ca", "PEM file of the roots that its certificate must lead to.", FILE),
    Setting("witness", "A witness (C2SP); may be repeated.", str, many=True, metavar="VKEY@URL"),
    Setting("anchor-every", "Seconds between two rounds with --tsa and --witness; one more at the end.", LONG, 3600.0),
    # keys
    Setting("sign-command", "Command that signs what it gets on stdin: 64 bytes, or their base64, on stdout.", str),
    Setting("store-key", "Change the store key, not the signing key: what it wraps is wrapped anew.", flag=True),
    Setting("public-key", "File with the command's Ed25519 public key: PEM, or the base64 of 32 bytes.", FILE),
    Setting(
        "reason",
        "Why the key is revoked.",
        click.Choice(("compromised", "lost", "superseded")),
        "superseded",
    ),
)
