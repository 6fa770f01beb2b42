"""An agent whose tools are behind a real MCP client on stdin and stdout; how its server is run stands in argv.

What AGENT_URL answers, if that is set, is the second number that it adds.
"""

import asyncio
import os
import sys
import urllib.request

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent


async def main() -> None:
    command, *arguments = sys.argv[1:]
    second = int(os.environ.get("AGENT_SECOND", "3"))
    given = StdioServerParameters(command=command, args=arguments)
    async with stdio_client(given) as streams, ClientSession(*streams) as session:
        await session.initialize()
        print(sorted(tool.name for tool in (await session.list_tools()).tools))
        if "AGENT_URL" in os.environ:
            told = (await asyncio.to_thread(urllib.request.urlopen, os.environ["AGENT_URL"])).read().decode()
            second = int(told) if told.isdecimal() else second
        calls: list[tuple[str, dict[str, int]]] = [
            ("clock", {}),
            ("add", {"a": 2, "b": second}),
            ("clock", {}),
            ("fail", {}),
        ]
        for name, said in calls:
            answer = await session.call_tool(name, said)
            print(name, *(block.text for block in answer.content if isinstance(block, TextContent)))


asyncio.run(main())
