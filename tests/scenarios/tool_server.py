"""A real MCP server on stdin and stdout: a clock that never says the same twice, and an adder."""

import time
from pathlib import Path
from sys import argv

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("tools")


@server.tool()
def clock() -> str:
    """The time in nanoseconds."""
    return str(time.time_ns())


@server.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    """The sum of two numbers."""
    await ctx.report_progress(1, 2)
    return a + b


@server.tool()
def fail() -> str:
    """What does not work."""
    raise ValueError("it does not work")


if __name__ == "__main__":
    with Path(argv[1]).open("a") as starts:
        starts.write("started\n")
    server.run("stdio")
