import { useEffect } from 'react';
import { GraphCanvas } from '../canvas/GraphCanvas.tsx';
import { useConnection } from '../connection/connectionStore.ts';
import { ConversationPanel } from '../conversation/ConversationPanel.tsx';
import { useGraphCheck } from '../document/useGraphCheck.ts';
import { InspectorPanel } from '../inspector/InspectorPanel.tsx';
import { ModelsPanel } from '../models/ModelsPanel.tsx';
import { Header } from './Header.tsx';

/** The whole page. */
export function App() {
  const open = useConnection(({ open }) => open);
  useEffect(() => void open(), [open]);
  useGraphCheck();
  return (
    <>
      <Header />
      <main>
        <section className="canvas" aria-label="Canvas">
          <GraphCanvas />
        </section>
        <InspectorPanel />
        <ConversationPanel />
        <ModelsPanel />
      </main>
    </>
  );
}
