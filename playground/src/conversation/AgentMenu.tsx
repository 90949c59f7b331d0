import { notifyFault } from '../app/noticeStore.ts';
import { downloadFile } from '../ui/downloadFile.ts';
import { Menu, type MenuItem } from '../ui/Menu.tsx';
import { useAgents } from './agentStore.ts';
import type { PageAgent } from './pageAgent.ts';
import { useIsPresentBroken } from './useIsPresentBroken.ts';
import { usePresentText } from './usePresentText.ts';

/** What can be done with an agent. */
export function AgentMenu({ agent }: { readonly agent: PageAgent }) {
  const { startAgain, clear, remove, exportDialog } = useAgents();
  const present = usePresentText(agent);
  const isBroken = useIsPresentBroken(agent);
  const { key, title, state, turns, dialog } = agent;
  const isReady = state === 'ready';
  const hasDialog = turns.length > 0 || (dialog ?? '[]') !== '[]';
  const items: readonly MenuItem[] = [
    {
      id: 'again',
      label: 'Start again',
      description: isBroken
        ? 'when the errors of the graph are mended'
        : 'with the graph and its parameters as they are now',
      disabled: state === 'creating' || isBroken,
    },
    {
      id: 'keep',
      label: 'Start again with the dialog',
      description: 'and with the parameters that were changed for the agent',
      disabled: state === 'creating' || !hasDialog || isBroken,
    },
    { id: 'clear', label: 'Clear the dialog', disabled: !isReady || !hasDialog },
    { id: 'export', label: 'Export the dialog', description: 'a download', disabled: !isReady && dialog === undefined },
    { id: 'remove', label: 'Remove the agent' },
  ];
  const actions: Readonly<Record<string, () => Promise<void>>> = {
    again: () => startAgain(key, present, { keepDialog: false }),
    keep: () => startAgain(key, present, { keepDialog: true }),
    clear: () => clear(key),
    export: async () => downloadFile(`${title}.dialog.json`, await exportDialog(key)),
    remove: () => remove(key),
  };
  return (
    <Menu
      variant="quiet"
      size="small"
      icon="more"
      aria-label={`Actions of ${title}`}
      items={items}
      onSelect={(id) => void actions[id]?.().catch(notifyFault)}
    />
  );
}
