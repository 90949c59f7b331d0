import { useEffect, useId, useRef, type ReactNode } from 'react';
import { Button } from './Button.tsx';
import './ui.css';

/** Properties of a dialog. */
export interface DialogProps {
  readonly title: string;
  /** Called when it is closed, also by Escape. Take the dialog out of the page then. */
  readonly onClose: () => void;
  /** Buttons below the content. */
  readonly foot?: ReactNode;
  readonly size?: 'wide' | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

/** What has the focus first: a field of the content, else the main action. Without them it is the button that closes. */
const firstField =
  '.ui-dialog-body :is(input:not([type=radio], [type=checkbox]), textarea), .ui-dialog-foot [data-variant=primary]';

/** A modal dialog. It is open as long as it is in the page; the focus then goes back to where it was. */
export function Dialog({ title, onClose, foot, size, className = '', children }: DialogProps) {
  const titleId = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    current?.querySelector<HTMLElement>(firstField)?.focus();
    return () => {
      current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`ui-dialog ${className}`}
      data-size={size}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className="ui-dialog-head">
        <h2 id={titleId}>{title}</h2>
        <Button variant="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </div>
      <div className="ui-dialog-body">{children}</div>
      {foot && <div className="ui-dialog-foot">{foot}</div>}
    </dialog>
  );
}
