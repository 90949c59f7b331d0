import { connect, executor } from 'turngraph/client';

const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        await_results: true,
        tools: [
          {
            name: 'get_weather',
            description: 'Get the weather in a city.',
            parameters: [{ name: 'city', type: 'string', description: 'Which city.' }],
          },
        ],
      },
      exits: { tool_called: 'answer', no_tool_called: 'answer' },
    },
    answer: { type: 'Generate', params: { system_prompt: 'Answer in one short sentence. Use the result.' } },
  },
};

// Tools run here, not in the page.
const tools = executor({ get_weather: { run: () => '18 degrees' } });

/** One conversation, which outlives a dropped connection, and a server that is started again. */
export class Conversation {
  #tell;
  #client;
  #agent;
  #turn;
  #dialog = '[]';

  /** @param tell is called with each update for the page: `{ type: 'text' | 'call' | 'connection', ... }`. */
  constructor(tell) {
    this.#tell = tell;
  }

  /** Connects to a server, and goes on with the dialog of the server before. */
  async start(url, token) {
    await this.#client?.close();
    this.#client = await connect(url, {
      token,
      // The client connects again and resumes its session by itself.
      onConnectionChange: ({ state }) => this.#tell({ type: 'connection', state }),
    });
    this.#agent = await this.#client.createAgent({ graph, history: this.#dialog });
    const { length } = JSON.parse(this.#dialog);
    if (length > 0) this.#tell({ type: 'connection', state: `restored ${length} interactions` });
  }

  /** Sends a message. Resolves with how the turn ended; its text comes in updates. */
  async send(text) {
    this.#turn = this.#agent.send(text, {
      tools,
      onText: (piece) => this.#tell({ type: 'text', text: piece }),
      onCall: (call) => this.#tell({ type: 'call', name: call.toolName, arguments: call.arguments }),
    });
    const { status } = await this.#turn;
    this.#dialog = await this.#agent.exportDialog();
    return status;
  }

  cancel() {
    this.#turn?.cancel();
  }
}
