"""What a recorder is told, and whoever is to go through it."""

import click

from proxy.settings.setting import FILE, FOLDER, PORT, SECONDS, Setting

_LOCAL = "A server in the agent's own processes: pass its traffic through as a tunnel, or take it as any other."

ROWS = (
    # record, proxy
    Setting("name", "Name of the run.", str),
    Setting("workflow", "Workflow that the run belongs to.", str),
    Setting("label", "A label of the run; may be repeated.", str, many=True, metavar="KEY=VALUE", member="labels"),
    Setting("upstream-ca", "PEM file of further roots that servers' certificates may lead to.", FILE),
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
    Setting("max-body", "So much of a body is kept; all of it passes.", click.IntRange(1, 4095), 256, metavar="MIB"),
    Setting("enforce", "Give the agent no way out but the recorder, and tell what tried another.", flag=True),
    Setting("freeze-time", "Keep the time that the agent sees, for the replay (needs libfaketime).", flag=True),
    Setting("freeze-random", "Keep what Python, Node and Bun take for chance, for the replay.", flag=True),
    Setting("reverse", "A server that a port stands for; may be repeated.", str, many=True, metavar="URL[@PORT]"),
    Setting("host", "Address of the recorder; another than a loopback one needs --token.", str, "127.0.0.1"),
    Setting("port", "Port to listen on; 0 lets it take a free one.", PORT),
    Setting("token", "Token that agents must send as the proxy password.", str),
    Setting(
        "tokens",
        "File with a token for each tenant, who writes into runs of its own: NAME TOKEN, or NAME sha256:HEX, a line.",
        FILE,
    ),
    Setting(
        "listen",
        "A port of this machine whose traffic belongs to one run, for clients that cannot say which; may be repeated.",
        str,
        many=True,
        metavar="RUN@PORT",
    ),
    Setting(
        "unknown-run",
        "Traffic that names no run: one run for all of it, a new one for each trace or connection, or a refusal.",
        click.Choice(("default", "new", "refuse")),
        "default",
    ),
    Setting(
        "allow-host",
        "Only servers that are named so may be reached: HOST, *.HOST or HOST:PORT; may be repeated.",
        str,
        many=True,
        metavar="HOST",
        member="allowed_hosts",
    ),
    Setting("allow-metadata", "Let agents reach the addresses at which clouds hand out credentials.", flag=True),
    Setting("admin", "Where health, readiness and metrics are told: PORT on loopback, or HOST:PORT.", str),
    Setting("drain", "Seconds that what goes on may go on after the end was asked for.", SECONDS, 30.0),
    Setting("log-format", "How what happens is told on stderr.", click.Choice(("text", "json")), "text"),
    Setting("idle", "Seconds without traffic after which a run is closed.", SECONDS, 300.0),
    # mcp
    Setting("server", "What the tool server is called in the recording.", str, None, "from its command"),
    # env
    Setting(
        "folder",
        "Folder for the files that programs are to trust and read; it holds no key, and may be handed on.",
        FOLDER,
        None,
        "clients in the authority's folder",
    ),
    Setting(
        "shell",
        "Shell, or file form, that the variables are written for; bash is read by sh and zsh too.",
        click.Choice(("bash", "fish", "powershell", "dotenv")),
        "bash",
    ),
)
