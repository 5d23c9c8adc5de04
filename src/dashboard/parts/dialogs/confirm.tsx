import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button, TextField } from '../controls.tsx';
import { Dialog } from './dialog.tsx';

/** Asks before something that cannot be undone. What is lost must be typed. */
export function Confirm({
  title,
  typed,
  action,
  act,
  close,
  children,
}: {
  readonly title: string;
  /** What must be typed. */
  readonly typed: string;
  readonly action: string;
  readonly act: () => Promise<void>;
  readonly close: () => void;
  readonly children: ComponentChildren;
}) {
  const [text, setText] = useState('');
  return (
    <Dialog label={title} close={close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          void act();
        }}
      >
        <h2>{title}</h2>
        <div class="stack">{children}</div>
        <TextField label={`Type “${typed}” to continue`} value={text} write={setText} />
        <div class="buttons">
          <Button type="submit" look="danger" disabled={text !== typed}>
            {action}
          </Button>
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
