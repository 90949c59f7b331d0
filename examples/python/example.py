"""A program with all that a game needs: python3 example.py [--url ws://127.0.0.1:9100] [--token TOKEN] [--form proto]

It sends a graph, streams an answer, runs a tool and gives back its result, cancels an answer, saves and restores a dialog,
and survives a dropped connection.
"""

import argparse
import asyncio

from turngraph import Executor, Text, TurngraphError, connect

GRAPH = {
    "default_model_name": "turngraph-demo",
    "start_node": "detect",
    "nodes": {
        "detect": {
            "type": "ToolCall",
            "params": {
                "await_results": True,
                "tools": [
                    {
                        "name": "get_weather",
                        "description": "Get the weather in a city.",
                        "parameters": [{"name": "city", "type": "string", "description": "Which city."}],
                    }
                ],
            },
            "exits": {"tool_called": "answer", "no_tool_called": "answer"},
        },
        "answer": {"type": "Generate", "params": {"system_prompt": "Answer in one short sentence. Use the result."}},
    },
}


def show(line: str) -> None:
    print(line, flush=True)


# The model only asks for a call; this program runs it. What it returns is the result that the model reads.
def get_weather(city: str) -> str:
    show(f"call: get_weather {city}")
    return "18 degrees"


async def main(url: str, token: str | None, form: str) -> None:
    tools = Executor({"get_weather": get_weather})
    # The client connects again and resumes its session by itself: the answer goes on where it was.
    async with connect(
        url,
        token=token,
        form=form,
        on_reconnecting=lambda error: show("\nconnection: reconnecting"),
        on_resumed=lambda: show("connection: resumed"),
        on_lost=lambda error: show(f"connection: lost, {error.message}"),
    ) as client:
        agent = await client.create_agent(graph=GRAPH)

        show("> What is the weather in Paris?")
        turn = agent.send("What is the weather in Paris?", tools=tools)
        async for event in turn:
            if isinstance(event, Text):
                print(event.text, end="", flush=True)
        show(f"\nanswer: {(await turn).text}")

        show("> Tell me a long story.")
        turn = agent.send("Tell me a long story.", tools=tools)
        async for event in turn:
            if isinstance(event, Text):
                show(f"{event.text}...")
                await turn.cancel()  # the first words are enough
        show(f"story: {(await turn).status}")

        # Save the dialog, and continue it with another agent.
        saved = await agent.export_dialog()
        await agent.destroy()
        again = await client.create_agent(graph=GRAPH, history=saved)
        show(f"restored: {len(await again.export_dialog())} interactions")

        # An error is one sentence.
        try:
            await client.create_agent(graph={**GRAPH, "start_node": "anwser"})
        except TurngraphError as error:
            show(f"refused: {error}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--url", default="ws://127.0.0.1:9100")
    arguments.add_argument("--token")
    arguments.add_argument("--form", default="json", choices=["json", "proto"])
    options = arguments.parse_args()
    asyncio.run(main(options.url, options.token, options.form))
