// A utility process of the stand-in for Electron: a Node process with the port to its parent that Electron's have.
const { argv } = process;
process.parentPort = { postMessage: (message) => process.send(message) };
argv.splice(1, 1);
await import(argv[1]);
