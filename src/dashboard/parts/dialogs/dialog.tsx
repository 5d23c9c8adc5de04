import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * A modal window. Escape and a click outside close it, unless `close` is left out. The focus then returns to where it
 * was.
 */
export function Dialog({
  label,
  look = 'box',
  close,
  children,
}: {
  readonly label: string;
  readonly look?: string;
  readonly close?: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // Browsers give the focus back when a dialog is closed. This one is removed, just after this.
      queueMicrotask(() => {
        const isLost = document.activeElement === document.body;
        if (isLost && before instanceof HTMLElement) before.focus();
      });
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself.
    <dialog
      ref={dialog}
      class={look}
      aria-label={label}
      // The event of a closed dialog comes later, when another window may be open already. So it is removed at once.
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // Browsers close it by a second Escape all the same.
      onClose={close ?? (() => dialog.current?.showModal())}
      onClick={(event) => {
        if (event.target === dialog.current) close?.();
      }}
    >
      {children}
    </dialog>
  );
}
