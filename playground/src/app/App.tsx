import { useEffect } from 'react';
import { GraphCanvas } from '../canvas/GraphCanvas.tsx';
import { TokenDialog } from '../connection/TokenDialog.tsx';
import { useConnection } from '../connection/connectionStore.ts';
import { ConversationPanel } from '../conversation/ConversationPanel.tsx';
import { TurnPanel } from '../conversation/TurnPanel.tsx';
import { useGraphCheck } from '../document/useGraphCheck.ts';
import { InspectorPanel } from '../inspector/InspectorPanel.tsx';
import { DefaultModelBar } from './DefaultModelBar.tsx';
import { Header } from './Header.tsx';
import { Notices } from './Notices.tsx';
import { UnsavedDialog } from './UnsavedDialog.tsx';
import { usePageEvents } from './usePageEvents.ts';
import { Workspace } from './Workspace.tsx';
import './app.css';

/** The whole page. */
export function App() {
  const open = useConnection(({ open }) => open);
  useEffect(() => void open(), [open]);
  useGraphCheck();
  const isFileDragged = usePageEvents();
  return (
    <>
      <Header />
      <Workspace
        canvas={
          <section aria-label="Canvas">
            <GraphCanvas />
            <a className="app-licences" href="/playground/licenses.txt" target="_blank" rel="noreferrer">
              Licences
            </a>
          </section>
        }
        inspector={<InspectorPanel />}
        conversation={
          <>
            <DefaultModelBar />
            <ConversationPanel />
          </>
        }
        turn={<TurnPanel />}
      />
      <Notices />
      <TokenDialog />
      <UnsavedDialog />
      {isFileDragged && <p className="app-drop">Drop the graph file to open it</p>}
    </>
  );
}
