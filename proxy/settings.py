"""The one table of settings: name, default, help and environment variable of every option."""

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import click
import platformdirs

from proxy.setting import Setting

Color = Literal["auto", "always", "never"]
Durability = Literal["strict", "group"]
Local = Literal["pass", "record"]
OnDistrust = Literal["fail", "tunnel"]
OnDrift = Literal["stop", "serve"]
OnMiss = Literal["fail"]
OnStoreFailure = Literal["block", "pass"]
Order = Literal["causal", "strict", "any"]

NO_TOKEN = "x"  # stands where a password must stand, for a recorder that asks for none
PROXY_PORT = 8484

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)
_PORT = click.IntRange(0, 65535)
_SECONDS, _LONG = click.FloatRange(min=0), click.FloatRange(min=1)
_COUNT = click.IntRange(min=1)


def _default_store() -> Path:
    return platformdirs.user_data_path("edgetape", appauthor=False) / "store"


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _default_keys() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "keys"


def _default_config() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "edgetape.toml"


def _default_authority() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "authority"


SHARED = (
    Setting("store", "Folder of the recordings.", _FOLDER, _default_store, "user data folder, edgetape/store"),
    Setting(
        "keys",
        "Folder of the signing key and the store key.",
        _FOLDER,
        _default_keys,
        "user configuration folder, edgetape/keys",
    ),
    Setting(
        "authority",
        "Folder of the certificate authority that agents are to trust.",
        _FOLDER,
        _default_authority,
        "user configuration folder, edgetape/authority",
    ),
    Setting(
        "config",
        "Settings file in TOML: [retention] says how long what is kept.",
        click.Path(dir_okay=False, path_type=Path),
        _default_config,
        "user configuration folder, edgetape/edgetape.toml",
    ),
    Setting("quiet", "Say only what went wrong.", short="-q", flag=True),
    Setting("verbose", "Say more.", short="-v", flag=True),
    Setting("color", "Color the output; NO_COLOR is honoured.", click.Choice(("auto", "always", "never")), "auto"),
)

_LOCAL = "A server in the agent's own processes: pass its traffic through as a tunnel, or take it as any other."

TABLE: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("json", "Print JSON on stdout.", flag=True, member="as_json"),
        # record, proxy
        Setting("name", "Name of the run.", str),
        Setting("workflow", "Workflow that the run belongs to.", str),
        Setting("label", "A label of the run; may be repeated.", str, many=True, metavar="KEY=VALUE", member="labels"),
        Setting("upstream-ca", "PEM file of further roots that servers' certificates may lead to.", _FILE),
        Setting(
            "durability",
            "strict: every exchange is on disk before the agent has its answer; group: soon after.",
            click.Choice(("strict", "group")),
        ),
        Setting(
            "on-store-failure",
            "Traffic that the store does not take: block stops it; pass lets it go on unrecorded, and says so.",
            click.Choice(("block", "pass")),
            "block",
        ),
        Setting("local", _LOCAL, click.Choice(("pass", "record")), "pass"),
        Setting(
            "passthrough",
            "A server whose traffic passes unopened, as a tunnel: HOST, *.HOST or HOST:PORT; may be repeated.",
            str,
            many=True,
            metavar="HOST",
        ),
        Setting(
            "on-distrust",
            "A server at which a client does not trust us: let it fail as often as it tries, or tunnel from then on.",
            click.Choice(("fail", "tunnel")),
            "fail",
        ),
        Setting("reverse", "A server that a port stands for; may be repeated.", str, many=True, metavar="URL[@PORT]"),
        Setting("host", "Address of the recorder; another than a loopback one needs --token.", str, "127.0.0.1"),
        Setting("port", "Port of the recorder; 0 lets it take a free one.", _PORT),
        Setting("token", "Token that agents must send as the proxy password.", str),
        Setting("idle", "Seconds without traffic after which a run is closed.", _SECONDS, 300.0),
        # mcp
        Setting("server", "What the tool server is called in the recording.", str, None, "from its command"),
        # runs, show
        Setting("mode", "Only runs of this mode (record, replay, fork ...).", str),
        Setting("limit", "At most so many runs.", _COUNT, short="-n"),
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
        Setting("reports", "Write each run that was found as a page into this folder.", _FOLDER, metavar="FOLDER"),
        # verify
        Setting(
            "pin",
            "Verifier key (vkey, or a file that holds one) that signatures must be of.",
            str,
            short="--key",
            member="key",
        ),
        Setting("held", "A signed checkpoint that you kept elsewhere; the log must still lead to it.", _FILE),
        Setting("deep", "Derive what events say of bodies (class, model, usage ...) from these again.", flag=True),
        Setting(
            "jobs",
            "Processes that verify runs; by default as many as there are cores, where the store is large.",
            _COUNT,
            short="-j",
        ),
        Setting("policy", "What you ask for and whom you trust, as a TOML file (docs/anchors.md).", _FILE),
        Setting("strict", "Exit 10 when the proof holds but a flag is up.", flag=True),
        # export
        Setting("output", "File to write the bundle to.", _OUTPUT, short="-o"),
        Setting(
            "proofs", "One inclusion proof a leaf of these runs, not the whole log: it names no other run.", flag=True
        ),
        Setting("checkpoint", "Export at the checkpoint of this size; else at the first that fits.", _COUNT),
        Setting("full-log", "All leaves up to the checkpoint; this is the default.", flag=True),
        Setting("without-bodies", "Leave out what was said; the commitments stay.", flag=True),
        Setting("verifier", "Write the stand-alone verifier alone to this file, and print its SHA-256.", _OUTPUT),
        # erase, hold, prune, retention, export
        Setting("step", "Only the bodies of this step.", _COUNT),
        Setting("why", "Why, in a few words; it is kept in the log for ever.", str, short="--reason", member="reason"),
        Setting("by", "Who asks for it.", str, _account, "the account's name"),
        Setting("dry-run", "Say what would be done, and do nothing.", flag=True),
        Setting("release", "End the hold.", flag=True),
        # prune
        Setting("older-than", "Runs that ended longer ago: 90d, 12w, 6mo, 5y.", str, metavar="AGE"),
        Setting("keep-last", "But not the so many newest recorded runs.", click.IntRange(min=0), metavar="N"),
        Setting("yes", "Do it without asking.", flag=True),
        # checkpoint
        Setting("to", "A folder, git:FOLDER (committed there), or - for stdout.", str, "-", metavar="WHERE"),
        Setting("tsa", "Address of a time stamp authority (RFC 3161); may be repeated.", str, many=True, metavar="URL"),
        Setting("tsa-ca", "PEM file of the roots that its certificate must lead to.", _FILE),
        Setting("witness", "A witness (C2SP); may be repeated.", str, many=True, metavar="VKEY@URL"),
        Setting(
            "anchor-every", "Seconds between two rounds with --tsa and --witness; one more at the end.", _LONG, 3600.0
        ),
        # keys
        Setting("sign-command", "Command that signs what it gets on stdin: 64 bytes, or their base64, on stdout.", str),
        Setting("store-key", "Change the store key, not the signing key: what it wraps is wrapped anew.", flag=True),
        Setting("public-key", "File with the command's Ed25519 public key: PEM, or the base64 of 32 bytes.", _FILE),
        Setting(
            "reason",
            "Why the key is revoked.",
            click.Choice(("compromised", "lost", "superseded")),
            "superseded",
        ),
        # replay
        Setting(
            "on-drift",
            "stop: the first drift ends the replay; serve: answer from the recording, go on, report all.",
            click.Choice(("stop", "serve")),
            "stop",
        ),
        Setting("on-miss", "What a request gets that nothing recorded answers.", click.Choice(("fail",)), "fail"),
        Setting("grace", "Seconds that the agent is given to end after a stop.", _SECONDS, 10.0),
        Setting("pace", "instant, recorded, or a factor of the recorded speed.", str, "instant"),
        Setting("order", "Which order of requests is asked for.", click.Choice(("causal", "strict", "any")), "causal"),
        Setting(
            "ignore",
            "A rule for what may differ, as a drift report prints it; may be repeated.",
            str,
            many=True,
            member="ignored",
        ),
        Setting("no-map", "Take an id that the agent makes up anew for a drift.", flag=True),
        Setting(
            "optional",
            "A rule for requests that may come or not, as `GET host/path*`; may be repeated.",
            str,
            many=True,
            member="optionals",
        ),
        Setting("repeat-last", "Give the last answer again to what is repeated too often.", flag=True),
        Setting("unverified", "Replay a recording even though its events do not fit together.", flag=True),
        Setting("no-agent-rules", "Do without the rules that come with edgetape for known agents.", flag=True),
        Setting("no-confine", "Run the agent with the network it has; the report says UNCONFINED.", flag=True),
        Setting(
            "allow-local",
            "A port of this machine that the confined agent may reach; may be repeated.",
            _PORT,
            many=True,
            member="allowed_ports",
        ),
        Setting("until", "Pause before this step is answered: look, change it, go on.", _COUNT),
        Setting("each", "Pause before every step.", flag=True, flag_name="step", member="each"),
        Setting("control", "Port of a control API on loopback for pausing; 0 takes a free one.", _PORT),
        Setting("report", "Write the end report as JSON to this file.", _OUTPUT),
        Setting("junit", "Write what was found as JUnit XML to this file.", _OUTPUT),
        # fork
        Setting("at", "The step at which the fork leaves the recording.", _COUNT),
        Setting("respond", "A file with the body that the step answers.", _FILE),
        Setting("status", "The status that the step answers.", click.IntRange(200, 599)),
        Setting(
            "set",
            "A value in the step's answer, its place a JSON Pointer; of a streamed answer in the message it comes to;"
            " may be repeated.",
            str,
            many=True,
            metavar="POINTER=VALUE",
            member="edits",
        ),
        Setting("cut-after", "Cut the step's answer after so many bytes.", click.IntRange(min=0), metavar="BYTES"),
        Setting("live-step", "Ask the real server for the step's answer.", flag=True),
        Setting(
            "allow",
            "What may go live beside model requests: host=, method=, path=, tool= (with * for any letters), class=read,"
            " idempotent or write, live=no, repeat=yes; may be repeated.",
            str,
            many=True,
            metavar="RULE",
            member="allowed",
        ),
        Setting("yes", "Do not ask whether what may leave may leave.", short="-y", flag=True),
        # regress
        Setting("jobs", "How many replays go on at once.", _COUNT, 1, short="-j"),
        # env
        Setting(
            "shell",
            "Shell, or file form, that the variables are written for; bash is read by sh and zsh too.",
            click.Choice(("bash", "fish", "powershell", "dotenv")),
            "bash",
        ),
    )
}
