"""The shapes of keys and tokens that their issuers gave a beginning, as a table: class, beginnings, what follows.

The facts (which beginning, how long) of those issuers that are no LLM providers follow the published rules of gitleaks
(see NOTICE). A shape takes the whole run of its characters, however long, so that no part of a token stays.
"""

from dataclasses import dataclass

SHAPE_BYTES_MAX = 16 * 1024

_W = r"[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Shape:
    """`heads` are the literal beginnings, with spaces between them; `rest` is a regular expression for what follows.

    `odd` says that what follows must look random, too: the beginning alone is common. `common` says that it
    occurs by chance in base64, `near` is a word that must stand shortly before it (`chance.py`).
    """

    kind: str
    heads: str
    rest: str
    odd: bool = False
    common: bool = False
    near: bytes = b""


@dataclass(frozen=True, slots=True)
class Inner:
    """A shape without a literal beginning: `word` stands within it, at most `before` bytes behind its beginning."""

    kind: str
    word: bytes
    before: int
    whole: str


def _run(least: int, characters: str = _W) -> str:
    return rf"{characters}{{{least},{SHAPE_BYTES_MAX}}}"


SHAPES = (
    # LLM providers and what agents use beside them
    Shape("anthropic", "sk-ant-", _run(16)),
    Shape("openrouter", "sk-or-", _run(20)),
    Shape("langfuse", "sk-lf- pk-lf-", _run(20)),
    Shape("openai", "sk-proj- sk-svcacct- sk-admin- sk-service- sk-live- sk-test- sk-user-", _run(16), odd=True),
    Shape("openai", "sk-", _run(20), odd=True),
    Shape("openai", "sess- ek_", _run(32), odd=True),
    Shape("groq", "gsk_", _run(20)),
    Shape("xai", "xai-", _run(20, "[A-Za-z0-9]"), odd=True),
    Shape("langsmith", "lsv2_ ls__", _run(20)),
    Shape("replicate", "r8_", _run(20)),
    Shape("tavily", "tvly-", _run(16), odd=True),
    Shape("huggingface", "hf_ api_org_", _run(30)),
    Shape("perplexity", "pplx-", _run(20)),
    Shape("cerebras", "csk-", _run(20)),
    Shape("fireworks", "fw_", _run(20), odd=True),
    Shape("nvidia", "nvapi-", _run(20)),
    Shape("voyage", "pa-", _run(40), odd=True),
    Shape("firecrawl", "fc-", _run(32), odd=True),
    Shape("jina", "jina_", _run(20)),
    Shape("pinecone", "pcsk_", _run(20)),
    Shape("google", "AIza", _run(30), common=True),
    Shape("google", "ya29.", _run(20)),
    Shape("google", "1//0", _run(30), common=True),
    Shape("google", "GOCSPX-", _run(20)),
    Shape("aws", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Shape("aws", "ABSKQmVkcm9ja0FQSUtleS", _run(60, "[A-Za-z0-9+/=]")),
    # code, hosting and delivery
    Shape("github", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", _run(36)),
    Shape("gitlab", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glagent- glimt- gloas- glffct-", _run(20)),
    Shape("gitlab", "GR1348941", _run(20)),
    Shape("atlassian", "ATATT3 ATBB ATCTT3", _run(20, "[A-Za-z0-9_=-]"), odd=True, common=True),
    Shape("npm", "npm_", _run(36)),
    Shape("pypi", "pypi-AgE", _run(50)),
    Shape("rubygems", "rubygems_", _run(48, "[a-f0-9]")),
    Shape("nuget", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    Shape("clojars", "CLOJARS_", _run(60, "[a-z0-9]")),
    Shape("dockerhub", "dckr_pat_ dckr_oat_", _run(20)),
    Shape("digitalocean", "dop_v1_ doo_v1_ dor_v1_", _run(64, "[a-f0-9]")),
    Shape("heroku", "HRKU-AA", _run(50)),
    Shape("flyio", "fo1_ fm1r_ fm1a_ fm2_", _run(40, "[A-Za-z0-9+/=_-]")),
    Shape("vercel", "vcp_ vck_ vcr_ vca_ vci_ vct_", _run(24), odd=True),
    Shape("netlify", "nfp_", _run(36)),
    Shape("supabase", "sbp_ sb_secret_", _run(20)),
    Shape("planetscale", "pscale_pw_ pscale_tkn_ pscale_oauth_", _run(32, "[A-Za-z0-9_=.-]")),
    Shape("databricks", "dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    Shape("pulumi", "pul-", _run(40, "[a-f0-9]")),
    Shape("vault", "hvs. hvb. hvr.", _run(20)),
    Shape("doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _run(20, "[A-Za-z0-9._-]")),
    Shape("onepassword", "ops_eyJ", _run(20, "[A-Za-z0-9+/=_-]")),
    Shape("onepassword", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-?){4,6}"),
    Shape("age", "AGE-SECRET-KEY-1", _run(50, "[A-Z0-9]")),
    Shape("alibaba", "LTAI", _run(16, "[A-Za-z0-9]"), odd=True, common=True),
    Shape("artifactory", "AKCp", _run(69, "[A-Za-z0-9]"), common=True),
    Shape("artifactory", "cmVmd", r"[A-Za-z0-9]{59}(?![A-Za-z0-9+/=])", common=True),
    Shape("authress", "sc_ ext_ scauth_ authress_", r"\w{5,30}\.\w{4,6}\.acc[_-]" + _run(40, "[a-z0-9+/_=.-]")),
    Shape("clickhouse", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9+/=])", odd=True, common=True),
    Shape("cloudflare", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}(?![a-f0-9])"),
    Shape("defined", "dnkey-", _run(70, "[A-Za-z0-9=_-]")),
    Shape("harness", "pat. sat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    Shape("infracost", "ico-", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Shape("octopus", "API-", r"[A-Z0-9]{26}(?![A-Za-z0-9])", odd=True),
    Shape("scalingo", "tk-us-", _run(48)),
    Shape("settlemint", "sm_aat_ sm_pat_ sm_sat_", _run(16, "[A-Za-z0-9]")),
    Shape("openshift", "sha256~", _run(40)),
    Shape("prefect", "pnu_", _run(36, "[a-z0-9]")),
    Shape("sonar", "squ_ sqp_ sqa_", _run(36)),
    Shape("sourcegraph", "sgp_", _run(36)),
    Shape("yandex", "t1.", r"[A-Z0-9a-z_-]{8,256}={0,2}\.[A-Z0-9a-z_-]{60,256}={0,2}"),
    Shape("yandex", "AQVN", r"[A-Za-z0-9_-]{35,38}(?![A-Za-z0-9_-])", common=True),
    Shape("yandex", "YC", r"[A-Za-z0-9_-]{38}(?![A-Za-z0-9_-])", odd=True, near=b"yandex", common=True),
    # observation
    Shape("grafana", "glsa_ glc_", _run(30, "[A-Za-z0-9_+/=]")),
    Shape("grafana", "eyJrIjoi", r"[A-Za-z0-9]{70,400}={0,3}(?![A-Za-z0-9+/=.])"),
    Shape("sentry", "sntryu_ sntrys_", _run(60, "[A-Za-z0-9_+/=]")),
    Shape("dynatrace", "dt0c01. dt0s01. dt0s02. dt0s16.", _run(24, "[A-Z0-9.]")),
    Shape("newrelic", "NRAK- NRII- NRJS- NRIQ-", _run(20)),
    # messages, payment, work
    Shape("slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", _run(20)),
    Shape("slack", "xoxe.", _run(20, "[A-Za-z0-9._-]")),
    Shape("discord", "MT Mj Mz ND NT Nj Nz OD OT", r"[A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,64}"),
    Shape("twilio", "SK", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    Shape("sendgrid", "SG.", _run(60, "[A-Za-z0-9._-]")),
    Shape("mailgun", "key- pubkey-", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    Shape("sendinblue", "xkeysib-", _run(60)),
    Shape("stripe", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", _run(10)),
    Shape("stripe", "whsec_ sk_", _run(20), odd=True),
    Shape("square", "sq0atp- sq0csp- sq0idp-", _run(22)),
    Shape("square", "EAAA", r"[A-Za-z0-9_-]{40,60}(?![A-Za-z0-9_-])", odd=True, common=True),
    Shape("plaid", "access-sandbox- access-development- access-production-", r"[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    Shape("gocardless", "live_", r"[A-Za-z0-9_=-]{40}(?![A-Za-z0-9_=-])", odd=True),
    Shape("lob", "live_ test_ live_pub_ test_pub_", r"[a-f0-9]{31,35}(?![A-Za-z0-9])"),
    Shape("duffel", "duffel_test_ duffel_live_", _run(43, "[A-Za-z0-9_=-]")),
    Shape("facebook", "EAAM EAAC", _run(100, "[A-Za-z0-9]"), common=True),
    Shape("twitter", "A" * 22, r"[A-Za-z0-9%]{80,100}(?![A-Za-z0-9%])", odd=True),
    Shape("dropbox", "sl.", _run(130, "[A-Za-z0-9=_-]")),
    Shape("adobe", "p8e-", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Shape("frameio", "fio-u-", _run(64, "[A-Za-z0-9_=-]")),
    Shape("intra", "s-s4t2ud- s-s4t2af-", r"[a-f0-9]{64}(?![A-Za-z0-9])"),
    Shape("shopify", "shpat_ shpca_ shppa_ shpss_", _run(32, "[a-fA-F0-9]")),
    Shape("shippo", "shippo_live_ shippo_test_", _run(40, "[a-f0-9]")),
    Shape("easypost", "EZAK EZTK", _run(54, "[A-Za-z0-9]"), common=True),
    Shape("flutterwave", "FLWPUBK_TEST- FLWSECK_TEST-", _run(12)),
    Shape("airtable", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}(?![A-Za-z0-9])"),
    Shape("hubspot", "pat-na pat-eu", r"\d-" + _run(30)),
    Shape("linear", "lin_api_ lin_oauth_", _run(32)),
    Shape("notion", "ntn_ secret_", r"[A-Za-z0-9]{40,64}(?![A-Za-z0-9])"),
    Shape("postman", "PMAK-", _run(50, "[a-f0-9-]")),
    Shape("readme", "rdme_", _run(70, "[a-z0-9]")),
    Shape("typeform", "tfp_", _run(50, "[A-Za-z0-9_.=-]")),
    Shape("figma", "figd_ figo_ figu_ figor_", _run(40)),
    # any issuer: three parts of base64url, the first of them a JSON object (RFC 7519)
    Shape("jwt", "eyJ", r"[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,16384}\." + _run(4, "[A-Za-z0-9_.-]")),
)  # fmt: skip

INNERS = (
    Inner("telegram", b":A", 12, r"\d{8,12}:A[A-Za-z0-9_-]{34,40}(?![A-Za-z0-9_-])"),
    Inner("terraform", b".atlasv1.", 14, r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,256}"),
    Inner("maxmind", b"_mmk", 36, r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9_])"),
    Inner("mailchimp", b"-us", 32, r"[a-f0-9]{32}-us\d\d?(?![A-Za-z0-9])"),
    Inner("azure", b"Q~", 4, r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,40}(?![A-Za-z0-9_~.-])"),
)
