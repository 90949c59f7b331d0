const write = (text) => document.querySelector('#log').append(text);

window.turngraph.onUpdate((update) => {
  if (update.type === 'text') write(update.text);
  else if (update.type === 'call') write(`[${update.name} ${JSON.stringify(update.arguments)}] `);
  else write(`[${update.state ?? update.message}] `);
});
document.querySelector('#cancel').addEventListener('click', () => void window.turngraph.cancel());
document.querySelector('#form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = document.querySelector('#text').value;
  write(`> ${text}\n`);
  try {
    write(` (${await window.turngraph.send(text)})\n`);
  } catch (error) {
    write(` (${error.message})\n`);
  }
});
