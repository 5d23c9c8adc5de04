import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { CopyButton, copy } from './controls.tsx';
import { useHotkeys } from './hotkeys.ts';
import { type ViewCommand, viewCommands } from './view-commands.ts';

/** The name of a page and the answer that it gives, in one sentence. */
export function PageHead({
  title,
  says,
  actions,
  of,
  commands = viewCommands.value,
}: {
  readonly title: string;
  readonly says?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** What the page is part of, for the title of the tab. */
  readonly of?: string | undefined;
  /** What does the same in a shell, where it is not what the table of views says. */
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
        {says !== undefined && <p class="says">{says}</p>}
      </div>
      {(actions !== undefined || first !== undefined) && (
        <div class="buttons">
          {actions}
          {commands.map(({ name, text }) => (
            <CopyButton key={name} look="" text={text}>
              {name}
            </CopyButton>
          ))}
        </div>
      )}
    </header>
  );
}
