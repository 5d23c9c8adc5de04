import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** The name of a page and the answer that it gives, in one sentence. */
export function PageHead({
  title,
  says,
  actions,
  of,
}: {
  readonly title: string;
  readonly says?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** What the page is part of, for the title of the tab. */
  readonly of?: string | undefined;
}) {
  useEffect(() => {
    document.title = [title, of, 'Fanfare'].filter(Boolean).join(' · ');
  }, [title, of]);
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {says !== undefined && <p class="says">{says}</p>}
      </div>
      {actions !== undefined && <div class="buttons">{actions}</div>}
    </header>
  );
}
