"""Example of the turngraph client: python3 example.py [--url ws://127.0.0.1:9100] [--engine mock] [--form proto]"""

import argparse
import asyncio

from turngraph import Call, NodeEvent, Text, TurngraphError, connect

KEEPER = {
    "start_node": "answer",
    "nodes": {
        "answer": {"type": "Generate", "params": {"system_prompt": "You keep the tavern {{tavern}}. Be brief."}},
    },
}


async def main(url: str, token: str | None, engine: str, form: str) -> None:
    async with connect(url, token=token, form=form) as client:
        print(f"connected to turngraph {client.server_version}")
        await client.configure(engine=engine)

        # A graph of the server's folder, with a tool. Running the tool is up to this program.
        lamp = await client.create_agent(graph_name="lamp-switch")
        async for event in lamp.send("Please turn on the porch light."):
            match event:
                case Text(text=text):
                    print(text, end="", flush=True)
                case Call(tool_name="set_light", arguments={"name": name, "on": on}, known=True):
                    print(f"the {name} light goes {'on' if on else 'off'}")
                case Call() | NodeEvent():
                    print(event)
        print()

        # A graph of this program. It needs a model, except with the mock engine.
        model = "" if engine == "mock" else "turngraph-demo"
        keeper = await client.create_agent(graph=KEEPER, default_model_name=model)
        turn = await keeper.send("Good evening!", variables={"tavern": "The Prancing Pony"})
        print(f"keeper: {turn.text}  ({turn.duration_ms:.0f} ms, {turn.tokens_generated} tokens)")

        # Save the dialog, and continue it with another agent.
        saved = await keeper.export_dialog()
        await keeper.destroy()
        keeper = await client.create_agent(graph=KEEPER, default_model_name=model, history=saved)
        turn = await keeper.send("What did I say?", variables={"tavern": "The Prancing Pony"})
        print(f"keeper: {turn.text}  ({len(await keeper.export_dialog())} interactions)")

        # An error is one sentence.
        try:
            await client.create_agent(graph={**KEEPER, "start_node": "anwser"})
        except TurngraphError as error:
            print(f"refused: {error}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--url", default="ws://127.0.0.1:9100")
    arguments.add_argument("--token")
    arguments.add_argument("--engine", default="", help='"mock" answers without a model')
    arguments.add_argument("--form", default="json", choices=["json", "proto"])
    options = arguments.parse_args()
    asyncio.run(main(options.url, options.token, options.engine, options.form))
