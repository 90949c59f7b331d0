import { useEffect } from 'react';
import { GraphCanvas } from '../canvas/GraphCanvas.tsx';
import { useConnection } from '../connection/connectionStore.ts';
import { ConversationPanel } from '../conversation/ConversationPanel.tsx';
import { TurnPanel } from '../conversation/TurnPanel.tsx';
import { useGraphCheck } from '../document/useGraphCheck.ts';
import { InspectorPanel } from '../inspector/InspectorPanel.tsx';
import { Header } from './Header.tsx';
import { Notices } from './Notices.tsx';
import { Workspace } from './Workspace.tsx';
import './app.css';

/** The whole page. */
export function App() {
  const open = useConnection(({ open }) => open);
  useEffect(() => void open(), [open]);
  useGraphCheck();
  return (
    <>
      <Header />
      <Workspace
        canvas={
          <section aria-label="Canvas">
            <GraphCanvas />
          </section>
        }
        inspector={<InspectorPanel />}
        conversation={<ConversationPanel />}
        turn={<TurnPanel />}
      />
      <Notices />
    </>
  );
}
