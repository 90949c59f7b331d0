import { useEffect, useState } from 'react';
import { Button, type ButtonProps } from './Button.tsx';

/** Properties of a copy button: those of a button, and what it copies. */
export interface CopyButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** The text, or a function that makes it on demand. */
  readonly text: string | (() => string);
}

const shownMs = 1600;

/** A button that copies a text to the clipboard, and says for a moment whether it did. */
export function CopyButton({ text, children = 'Copy', ...button }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>();
  useEffect(() => {
    if (!outcome) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text());
      setOutcome('copied');
    } catch {
      // Pages that are not served from this machine or by HTTPS have no clipboard.
      setOutcome('failed');
    }
  };
  const said = { copied: 'Copied', failed: 'The browser refuses to copy' };
  return (
    <Button icon={outcome === 'copied' ? 'check' : 'copy'} {...button} onClick={() => void copy()}>
      {outcome ? said[outcome] : children}
    </Button>
  );
}
