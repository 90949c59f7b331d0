import { useEffect, useRef } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { useDocument } from './documentStore.ts';
import { GraphCheck } from './graphCheck.ts';

const delayMs = 200;

/** Checks the document with the server a moment after it was changed, and again after a reconnect; its store gets the faults. */
export function useGraphCheck(): void {
  const text = useDocument((store) => store.text);
  const isEditable = useDocument((store) => store.isEditable);
  const isConnected = useConnection(({ status }) => status.state === 'connected');
  const graphCheck = useRef<GraphCheck>(undefined);
  useEffect(() => {
    if (!isEditable || !isConnected) return undefined;
    const timer = setTimeout(() => {
      graphCheck.current ??= new GraphCheck();
      void checkText(graphCheck.current, text);
    }, delayMs);
    return () => clearTimeout(timer);
  }, [text, isEditable, isConnected]);
  useEffect(() => () => graphCheck.current?.close(), []);
}

async function checkText(graphCheck: GraphCheck, text: string): Promise<void> {
  const faults = await graphCheck.check(text);
  const { text: current, setFaults } = useDocument.getState();
  if (faults && current === text) setFaults(faults);
}
