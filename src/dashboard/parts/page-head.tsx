import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Failed } from '../api/client.ts';
import { CopyButton, copy } from './controls.tsx';
import { useHotkeys } from './hotkeys.ts';
import { type ViewCommand, viewCommands } from './view-commands.ts';

/** The name of a page and the answer that it gives, in one sentence. */
export function PageHead({
  title,
  says,
  failed,
  actions,
  of,
  commands = viewCommands.value,
}: {
  readonly title: string;
  /** Left out until the answer has arrived. */
  readonly says?: ComponentChildren;
  /** Why there is no answer. The page shows it below. */
  readonly failed?: Failed | undefined;
  readonly actions?: ComponentChildren;
  /** What the page is part of, for the title of the tab. */
  readonly of?: string | undefined;
  /** The commands that print the same, if they differ from those of the table of views. */
  readonly commands?: readonly ViewCommand[];
}) {
  useEffect(() => {
    document.title = [title, of, 'Fanfare'].filter(Boolean).join(' · ');
  }, [title, of]);
  const [first] = commands;
  useHotkeys(first === undefined ? {} : { '.': () => void copy(first.text()) });
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        <p class="says">{says ?? without(failed)}</p>
      </div>
      {(actions !== undefined || first !== undefined) && (
        <div class="buttons">
          {actions}
          {commands.map(({ name, text }) => (
            // Without a keyboard, there is hardly a shell.
            <CopyButton key={name} look="for-keys" text={text}>
              {name}
            </CopyButton>
          ))}
        </div>
      )}
    </header>
  );
}

function without(failed: Failed | undefined): string {
  if (failed === undefined) return 'Asking …';
  return failed.status === 404 ? 'It is not here, or not any more.' : 'There is no answer now.';
}
