"""What a program needs to get through our proxy: roots to trust, files for its clients, variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from proxy.agent.clients import write_client_files
from proxy.agent.environment import ClientFiles, agent_environment
from proxy.settings import NO_TOKEN
from store.authority import Authority
from store.core.errors import EdgetapeError
from store.trust import write_bundle


class PassageError(EdgetapeError):
    """The files that programs are to trust cannot be written."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where a proxy listens, and what a program says to it: the run as user name, the token as password."""

    port: int
    run: str = "default"
    token: str = NO_TOKEN
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """The proxy URL; without a password in it urllib and requests would send no user name either.

        User name and password are percent-encoded (RFC 3986, section 3.2.1): an unencoded `/` or `@` in them would
        send the agent, and the token with it, to another host.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{quote(self.run, safe='')}:{quote(self.token, safe='')}@{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Files:
    """What programs are to trust, and what clients that take no variable read."""

    bundle: Path
    certificate: Path
    clients: ClientFiles


def passage(
    base: Mapping[str, str],
    way: Way,
    authority: Authority,
    place: Path | Files,
    extras: Mapping[str, str] | None = None,
    *,
    lasting: bool = False,
) -> dict[str, str]:
    """`base` changed for a program that is to go this way. Its files are written to `place`, or are those.

    A `lasting` one serves programs that start after we have ended, or elsewhere: all that they need lies in `place`.

    Raises PassageError, NoRoots and ClientFilesError.
    """
    files = laid_out(base, authority, place, lasting=lasting) if isinstance(place, Path) else place
    return agent_environment(base, way.url, files.certificate, files.bundle, files.clients, extras)


def laid_out(base: Mapping[str, str], authority: Authority, folder: Path, *, lasting: bool = False) -> Files:
    """The files that `passage` names, written to `folder`. Raises PassageError, NoRoots and ClientFilesError."""
    bundle, certificate = folder / "roots.pem", authority.certificate_path
    try:
        write_bundle(bundle, authority.certificate_pem, base)
        if lasting:  # the authority's own folder holds its key, and may be out of reach
            certificate = folder / "authority.pem"
            certificate.write_bytes(authority.certificate_pem)
    except OSError as error:
        raise PassageError(
            f"the roots for the agent cannot be written to {bundle}: {error.strerror}",
            hint="check the permissions of the folder and the space on its disk",
        ) from error
    return Files(bundle, certificate, write_client_files(folder, bundle, base, carries_preloads=lasting))
