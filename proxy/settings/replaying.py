"""How a recorded run is run again."""

import click

from proxy.settings.setting import COUNT, FILE, PORT, REPORT, SECONDS, Setting

ROWS = (
    # replay
    Setting(
        "on-drift",
        "stop: the first drift ends the replay; serve: answer from the recording, go on, report all.",
        click.Choice(("stop", "serve")),
        "stop",
    ),
    Setting(
        "on-miss",
        "What a request gets that nothing recorded answers: a failure; live: the real server's answer; record: that,"
        " and the new run takes the recording's name.",
        click.Choice(("fail", "live", "record")),
        "fail",
    ),
    Setting("grace", "Seconds that the agent is given to end after a stop.", SECONDS, 10.0),
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
    Setting("no-wait", "Serve Retry-After as 0, so that a recorded 429 or poll costs no time.", flag=True),
    Setting("unverified", "Replay a recording even though its events do not fit together.", flag=True),
    Setting("no-agent-rules", "Do without the rules that come with edgetape for known agents.", flag=True),
    Setting("no-confine", "Run the agent with the network it has; the report says UNCONFINED.", flag=True),
    Setting(
        "allow-local",
        "A port of this machine that the confined agent may reach; may be repeated.",
        PORT,
        many=True,
        member="allowed_ports",
    ),
    Setting("serve", "Run no command: answer whoever is pointed here, until TERM or Ctrl-C.", flag=True),
    Setting("until", "Pause before this step is answered: look, change it, go on.", COUNT),
    Setting("each", "Pause before every step.", flag=True, flag_name="step", member="each"),
    Setting("control", "Port of a control API on loopback for pausing; 0 takes a free one.", PORT),
    Setting("report", "Write the end report as JSON to this file.", REPORT),
    Setting("junit", "Write what was found as JUnit XML to this file.", REPORT),
    # fork
    Setting("at", "The step at which the fork leaves the recording.", COUNT),
    Setting("respond", "A file with the body that the step answers.", FILE),
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
    Setting("message", "The message of the step's WebSocket that is another, by its number.", COUNT),
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
    Setting(
        "children",
        "Child runs: answered from the recorded ones, or live as far as the rules let them.",
        click.Choice(("recorded", "live")),
        "recorded",
    ),
    # compare, sandbox
    Setting("model", "Ask this model instead of the agent's own; each is a variant.", str, many=True, member="models"),
    Setting(
        "with",
        "Variables of the agent's environment that a variant changes: 'MODEL=m1 TEMPERATURE=0'; each is a variant.",
        str,
        many=True,
        metavar="KEY=VALUE...",
        member="variables",
    ),
    Setting("times", "How often each variant runs.", COUNT, 1, short="-n"),
    Setting(
        "map",
        "Who plays a server: requests for HOST[/PATH] (* for any letters) go to URL; may be repeated.",
        str,
        many=True,
        metavar="HOST=URL",
        member="fakes",
    ),
    Setting("live-models", "Ask the real models; else they are answered from the recording.", flag=True),
)
