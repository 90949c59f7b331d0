import { Client } from './turngraph.js';

const saveName = 'the-blue-door';
const world = { lamps: { hall: false, kitchen: false, porch: false }, doors: { front: false, cellar: false } };
let history;

// The model only asks for a call. What happens in the game is decided here.
const tools = {
  set_lamp({ lamp, on }) {
    world.lamps[lamp] = on;
    return `The ${lamp} lamp is ${on ? 'on' : 'off'}.`;
  },
  set_door({ door, open }) {
    if (door === 'cellar' && open && !world.lamps.hall) throw new Error('it is too dark in the hall');
    world.doors[door] = open;
    return `The ${door} door is ${open ? 'open' : 'closed'}.`;
  },
  async set_name({ name }) {
    await openMemory();
    await client.addKnowledge('player', [{ id: 'name', text: name, keys: ['name'] }]);
    return `I will remember you, ${name}.`;
  },
  set_mood({ mood }) {
    find('#mira').dataset.mood = mood;
    find('#mira text').textContent = mood;
  },
};

const find = (selector) => document.querySelector(selector);
const form = find('#say');

function draw() {
  for (const [lamp, on] of Object.entries(world.lamps)) find(`[data-lamp=${lamp}]`).classList.toggle('on', on);
  for (const [door, open] of Object.entries(world.doors)) find(`[data-door=${door}]`).classList.toggle('open', open);
}

function write(who, text) {
  const line = document.createElement('li');
  line.className = who;
  line.textContent = text;
  find('#talk').append(line);
  line.scrollIntoView();
  return line;
}

function save() {
  localStorage.setItem(saveName, JSON.stringify({ world, history: mira.historyJson }));
}

// Takes what this version of the game knows. A save that cannot be read is as none.
function load() {
  try {
    const saved = JSON.parse(localStorage.getItem(saveName) ?? '{}');
    for (const kind of ['lamps', 'doors'])
      for (const name of Object.keys(world[kind])) world[kind][name] = saved.world?.[kind]?.[name] === true;
    history = saved.history;
  } catch (error) {
    console.warn('the save cannot be read', error);
  }
}

// By this key, the server finds what it keeps of the player. Nobody can guess it.
function playerKey() {
  const name = `${saveName}-player`;
  if (!localStorage.getItem(name)) localStorage.setItem(name, crypto.getRandomValues(new Uint32Array(4)).join('-'));
  return localStorage.getItem(name);
}

async function openMemory() {
  try {
    await client.request('createStringStorage', { name: 'player', kind: 'KNOWLEDGE', persist: true });
  } catch (error) {
    // The session has it already.
    if (error.code !== 7002) throw error;
  }
}

async function createMira() {
  try {
    return await client.createAgent({ graphName: 'keeper', history });
  } catch (error) {
    if (history === undefined) throw error;
    console.warn('the saved conversation cannot be used', error);
    return client.createAgent({ graphName: 'keeper' });
  }
}

async function ask(text, isAgain = false) {
  const answer = write('mira', '…');
  let spoken = '';
  try {
    await mira.send(text, { tools, onText: (piece) => (answer.textContent = spoken += piece) });
  } catch (error) {
    answer.remove();
    console.warn(error);
    // The server was started again. The client has created the agent again, without this message.
    if (error.code === 1002 && !isAgain) return client.ready().then(() => ask(text, true));
    write('error', error.code === 4004 ? 'That was too much at once.' : 'Mira does not answer. Please say it again.');
  }
}

find('#restart').addEventListener('click', () => {
  localStorage.removeItem(saveName);
  location.reload();
});

load();
draw();
const client = new Client(location.origin.replace('http', 'ws'), {
  configuration: { memoryKey: playerKey() },
  onLost: () => (find('#status').textContent = 'No connection. Trying again…'),
  onReconnected: () => (find('#status').textContent = ''),
});
await client.ready();
find('#status').textContent = '';
await openMemory();
const mira = await createMira();
await ask('(comes in)');
form.inert = false;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = new FormData(form).get('text');
  form.reset();
  write('you', text);
  // A character takes one message at a time.
  form.inert = true;
  await ask(text);
  draw();
  save();
  form.inert = false;
  form.elements.text.focus();
});
