import type { ComponentChild, ComponentChildren } from 'preact';
import { Button } from './controls.tsx';
import { FailureNotice } from './notices.tsx';
import type { Paged } from './use-pages.ts';

/** Asks for the next page of a list, if there is one. */
export function More({
  hasMore,
  isAsking,
  more,
}: Pick<Paged<never>, 'hasMore' | 'isAsking' | 'more'>) {
  return hasMore ? (
    <Button onClick={more} disabled={isAsking}>
      Show more
    </Button>
  ) : null;
}

interface PagedCardProps<Item> {
  readonly label: string;
  readonly pages: Paged<Item>;
  readonly above?: ComponentChildren;
  readonly below?: ComponentChildren;
  /** What is shown of a list without items. */
  readonly none: ComponentChild;
  readonly children: (items: readonly Item[]) => ComponentChild;
}

/** A list that is read page by page, or why it cannot be read. */
export function PagedCard<Item>(props: PagedCardProps<Item>) {
  const { label, pages, above, below, none, children } = props;
  const { items, failed, reload } = pages;
  return (
    <>
      <FailureNotice failed={failed} retry={reload} />
      {above}
      {items !== undefined && (
        <section class="card" aria-label={label}>
          {items.length > 0 ? children(items) : none}
        </section>
      )}
      {below}
      <More {...pages} />
    </>
  );
}
