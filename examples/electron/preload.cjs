// All that the page can do: send a message, cancel the answer, be told what happens. It has no address, token or socket.
const { contextBridge, ipcRenderer } = require('electron');

contextBridge.exposeInMainWorld('turngraph', {
  send: (text) => ipcRenderer.invoke('turngraph:send', text),
  cancel: () => ipcRenderer.invoke('turngraph:cancel'),
  // The page must not get the event, which has the sender.
  onUpdate: (callback) => {
    ipcRenderer.on('turngraph:update', (_event, update) => callback(update));
  },
});
