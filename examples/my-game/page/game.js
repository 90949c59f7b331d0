import { Client } from './turngraph.js';

const newWorld = () => ({
  lamps: { hall: false, kitchen: false, porch: false },
  doors: { front: false, cellar: false },
});
const saved = JSON.parse(localStorage.getItem('the-blue-door') ?? '{}');
const world = saved.world ?? newWorld();

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
};

function draw() {
  for (const [lamp, on] of Object.entries(world.lamps))
    document.querySelector(`[data-lamp=${lamp}]`).classList.toggle('on', on);
  for (const [door, open] of Object.entries(world.doors))
    document.querySelector(`[data-door=${door}]`).classList.toggle('open', open);
}

function write(who, text) {
  const line = document.createElement('li');
  line.className = who;
  line.textContent = text;
  document.querySelector('#talk').append(line);
  line.scrollIntoView();
  return line;
}

draw();
const client = new Client(location.origin.replace('http', 'ws'), {
  onLost: (error) => write('error', error.message),
});
await client.ready();
const mira = await client.createAgent({ graphName: 'keeper', historyJson: saved.history });
write('mira', saved.history ? 'Welcome back!' : 'Welcome to The Blue Door!');

const form = document.querySelector('#say');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = new FormData(form).get('text');
  form.reset();
  write('you', text);
  const answer = write('mira', '…');
  // A character takes one message at a time.
  form.inert = true;
  try {
    let spoken = '';
    await mira.send(text, { tools, onText: (piece) => (answer.textContent = spoken += piece) });
  } catch (error) {
    write('error', error.message);
  }
  draw();
  localStorage.setItem('the-blue-door', JSON.stringify({ world, history: mira.historyJson }));
  form.inert = false;
  form.elements.text.focus();
});

document.querySelector('#restart').addEventListener('click', () => {
  localStorage.removeItem('the-blue-door');
  location.reload();
});
