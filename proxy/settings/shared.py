"""The settings that every verb has."""

from pathlib import Path

import click
import platformdirs

from proxy.settings.setting import FOLDER, STORE, Setting


def _default_store() -> Path:
    return platformdirs.user_data_path("edgetape", appauthor=False) / "store"


def _default_homes() -> Path:
    return platformdirs.user_data_path("edgetape", appauthor=False) / "servers"


def _default_keys() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "keys"


def _default_config() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "edgetape.toml"


def _default_authority() -> Path:
    return platformdirs.user_config_path("edgetape", appauthor=False) / "authority"


ROWS = (
    Setting(
        "store",
        "Folder of the recordings, or postgresql://USER@HOST/DATABASE (docs/postgresql.md).",
        STORE,
        _default_store,
        "user data folder, edgetape/store",
        metavar="FOLDER|URL",
    ),
    Setting(
        "homes",
        "Folder of what lies beside stores in PostgreSQL.",
        FOLDER,
        _default_homes,
        "user data folder, edgetape/servers",
    ),
    Setting(
        "keys",
        "Folder of the signing key and the store key.",
        FOLDER,
        _default_keys,
        "user configuration folder, edgetape/keys",
    ),
    Setting(
        "authority",
        "Folder of the certificate authority that agents are to trust.",
        FOLDER,
        _default_authority,
        "user configuration folder, edgetape/authority",
    ),
    Setting(
        "config",
        "Settings file in TOML: [proxy] has options of proxy, [retention] says how long what is kept.",
        click.Path(dir_okay=False, path_type=Path),
        _default_config,
        "user configuration folder, edgetape/edgetape.toml",
    ),
    Setting("quiet", "Say only what went wrong.", short="-q", flag=True),
    Setting("verbose", "Say more.", short="-v", flag=True),
    Setting("color", "Color the output; NO_COLOR is honoured.", click.Choice(("auto", "always", "never")), "auto"),
)
