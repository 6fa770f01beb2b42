"""The tables of members of sections 4 and 6, as the page spells them."""

COMMON = "`v` int; `type` str; `run` run; `seq` count; `prev` hash; `ts` time; `mono_us` count"
LEAF_COMMON = "`v` int; `type` str; `ts` time"

ANNOTATION = (
    "`v` int; `type` str; `run` run; `number` count; `prev` hash; `ts` time; `seq` count; `event_hash` hash; "
    "`by` str; `kind` str; `text` body; `supersedes`? count; `redactions`? tallies"
)

EVENTS: dict[str, str] = {
    "run.open": (
        "`origin` str; `mode` record|replay|fork|compare|sandbox|import; `recorder` str; `clock` str; "
        "`policies` object; `agent` object; `name`? text; `principal`? text; `workflow`? text; "
        "`labels`? pairs; `parent`? object; `checkpoint`? object; `bases`? array of str"
    ),
    "http.request": (
        "`method` text; `scheme` text; `host` text; `port` int; `path` text; `http_version` text; "
        "`headers` headers; `query`? body; `body`? body; `streaming`? bool =false; `wire_bytes`? int; "
        "`exact`? bool =true; `truncated`? bool =false; `redactions`? tallies; `class`? str; "
        "`boundary`? str; `effect`? str; `operation`? str; `tool`? text; `model`? text; `settings`? pairs; "
        "`idempotency_key`? text; `trace_id`? str; `span_id`? str; `rules`? str"
    ),
    "http.request.end": (
        "`req` int; `ended` complete|client_gone|reset|closed|timeout|refused_by_policy|truncated|recorder_stopped; "
        "`body`? body; `chunks`? body; `trailers`? headers; `wire_bytes`? int; `exact`? bool =true; "
        "`truncated`? bool =false; `redactions`? tallies"
    ),
    "http.response": (
        "`req` int; `status` int; `http_version` text; `headers` headers; "
        "`ended` complete|client_gone|reset|closed|timeout|refused_by_policy|truncated|recorder_stopped; "
        "`framing` none|length|chunked|close|frames; `reason`? text; `interim`? headers; `trailers`? headers; "
        "`body`? body; `chunks`? body; `wire_bytes`? int; `exact`? bool =true; `truncated`? bool =false; "
        "`redactions`? tallies; `upstream`? text; `tls`? text; `first_byte_us`? int; `total_us`? int; "
        "`model`? text; `usage`? tallies; `stop`? text; `tools`? array of text; `provider_request_id`? text; "
        "`receipt`? text; `rules`? str"
    ),
    "http.error": (
        "`req` int; `kind` dns|connect|tls|timeout|reset|closed|client_gone|refused|recorder_stopped; "
        "`detail`? body; `total_us`? int"
    ),
    "ws.message": "`req` int; `direction` to_server|to_client; `opcode` text|binary; `body` body; "
    "`wire_bytes`? int; `exact`? bool =true; `redactions`? tallies",
    "ws.close": "`req` int; `code` int; `by` client|server|unknown; `reason`? body",
    "rpc.message": "`server` text; `direction` to_server|to_client; `body` body; `method`? text; `id`? text",
    "tunnel.open": "`host` text; `port` int; `reason` excluded|pinned|local|cleartext_h2|not_http|upgrade",
    "tunnel.close": "`open` int; `sent_bytes` int; `received_bytes` int; `duration_us` int",
    "gap": "`since` str; `until` str; `reason` text",
    "value": "`kind` now|random|uuid; `body` body",
    "frozen": "`kind` clock|seed; `body` body",
    "note": "`kind` decision|state|policy|approval|retrieval|effect; `body` body; `source`? agent =agent",
    "run.spawn": "`child` str; `genesis` hash",
    "run.close": (
        "`n` int; `head` hash; `root` hash; `reason` normal|agent_exit|idle|operator|crash_recovered; "
        "`counts` tallies; `dropped`? int =0; `partial`? int =0; `children`? array of str; `exit_code`? int; "
        "`clock`? resumed"
    ),
    "verdict": "`verdict` text; `exit_code` int; `counts` tallies; `report` body",
}

OBJECTS: dict[str, str] = {
    "agent": "`name`? text; `version`? text; `argv`? body; `cwd`? body; `credential_names`? body",
    "policies": "`redaction` str; `classification` str; `policy`? str",
    "parent": "`run` str; `seq` int; `event_hash` hash",
    "checkpoint": "`size` int; `root` hash",
}

LEAVES: dict[str, str] = {
    "store.created": "`origin` str; `vkey` str",
    "run.open": "`run` run; `genesis` hash; `head` hash",
    "run.head": "`run` run; `n` count; `head` hash",
    "run.close": "`run` run; `n` count; `head` hash; `root` hash",
    "run.import": "`run` run; `origin` str; `n` count; `head` hash; `size` count; `root` hash",
    "payload.erased": "`run` run; `by` str; `reason` str; `seq`? count; `policy`? str",
    "hold.set": "`run` run; `by` str; `reason` str",
    "run.tag": "`run` run; `by` str; `key` str; `text`? str",
    "annotation.head": "`run` run; `n` count; `head` hash",
    "hold.release": "`run` run; `by` str; `reason` str",
    "retention.pruned": "`run` run; `by` str; `reason` str; `policy`? str",
    "policy.changed": "`policy` redaction|retention; `now` str; `before`? str",
    "access.export": "`run` run; `by` str; `sha256` hash; `size` count; `bodies` included|withheld",
    "recorder.start": "`recorder` str; `version` str",
    "recorder.stop": "`recorder` str",
    "key.rotate": "`old` str; `new` str; `old_signature` str; `new_signature` str",
    "key.revoke": "`key` str; `reason` compromised|lost|superseded; `by` str; `signature` str",
    "anchor": "`kind` rfc3161|cosignature; `size` count; `sha256` hash; `by` str",
}
