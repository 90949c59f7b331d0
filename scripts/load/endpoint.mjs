// An inference server that answers at once: the API of llama-server without a model. Its argument is the number of tokens of a
// long answer, and of slots. It prints its address. Each character is a token.
import { createServer } from 'node:http';

const [tokens, slots] = process.argv.slice(2).map(Number);
const control = ['<|im_start|>', '<|im_end|>'];
const vocabulary = [...control, ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))];
const tokenOf = (character) => control.length + (character.codePointAt(0) % 128);
const split = /(<\|im_start\|>|<\|im_end\|>)/;
const tokenize = (text, special) =>
  (special ? text.split(split) : [text]).flatMap((part) =>
    special && control.includes(part) ? [control.indexOf(part)] : Array.from(part, tokenOf),
  );

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const events = (count) =>
  Array.from({ length: count }, (_, index) =>
    event({ content: 'w', tokens: [tokenOf('w')], tokens_predicted: index + 1, stop: false }),
  );
const end = event({ content: '', tokens: [], stop: true, stop_type: 'eos', timings: { cache_n: 0 } });
const [short, long] = [1, tokens].map((count) => [...events(count), end]);

const chat_template =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const answers = {
  '/props': () => ({
    default_generation_settings: { n_ctx: 32_768 },
    total_slots: slots,
    chat_template,
    bos_token: '',
    eos_token: control[1],
    build_info: 'load',
    model_alias: 'load',
  }),
  '/v1/models': () => ({ data: [{ id: 'load', meta: { n_vocab: vocabulary.length } }] }),
  '/tokenize': ({ content, parse_special: special = true }) => ({
    tokens:
      typeof content === 'string' ? tokenize(content, special) : content.map((id) => ({ id, piece: vocabulary[id] })),
  }),
};

// The last message of the user says which answer it wants.
function answerTo(prompt) {
  const lastUser = prompt.lastIndexOf(0, prompt.lastIndexOf(0) - 1);
  const text = prompt.slice(lastUser + 1).map((token) => vocabulary[token]);
  return text.join('').startsWith('user\nlong') ? long : short;
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
  const answer = answers[new URL(request.url, 'http://localhost').pathname];
  response.writeHead(200, { server: 'llama.cpp', 'content-type': answer ? 'application/json' : 'text/event-stream' });
  if (answer) return void response.end(JSON.stringify(answer(body)));
  // As a server does that computes: each token is a write of its own.
  for (const part of answerTo(body.prompt)) response.write(part);
  // A llama-server closes the connection after a stream.
  response.end(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
