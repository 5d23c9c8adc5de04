import type { LiveFeed } from '../../live/live-feed.ts';
import type { LiveFilter } from '../../live/records.ts';
import { count } from '../../parts/formats.ts';
import { Icon } from '../../parts/icons.tsx';
import { setQuery } from '../../routing/router.ts';

/** One switch per group of kinds, with its events of the last second. */
export function KindChips({
  feed,
  filter,
}: {
  readonly feed: LiveFeed;
  readonly filter: LiveFilter;
}) {
  const counts = feed.counts.value;
  const { groups } = feed.subject;
  const toggle = (id: string) => {
    const isAll = filter.groups.length === groups.length;
    const next = isAll
      ? [id]
      : groups
          .map((group) => group.id)
          .filter((each) => filter.groups.includes(each) !== (each === id));
    setQuery({ kinds: next.length === groups.length ? '' : next.join(',') });
  };
  return (
    <fieldset class="kinds" aria-label="Kinds to show">
      {groups.map(({ id, word, icon, look }) => (
        <button
          key={id}
          type="button"
          class={`kind chip ${look}`}
          aria-pressed={filter.groups.includes(id)}
          onClick={() => toggle(id)}
        >
          <Icon name={icon} />
          {word}
          {(counts.groups[id] ?? 0) > 0 && (
            <span class="rate">{count(counts.groups[id] ?? 0)}/s</span>
          )}
        </button>
      ))}
    </fieldset>
  );
}
