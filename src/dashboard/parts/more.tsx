import { Button } from './controls.tsx';
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
