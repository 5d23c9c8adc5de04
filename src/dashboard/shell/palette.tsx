import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialogs/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { go } from '../routing/router.ts';
import { askedHits, type Hit, knownHits, SEARCHED_APPS, userHits } from './hits.ts';

const TYPING_MS = 150;

/** Finds pages, apps, channels, connections, users, devices and publishes, and goes there. */
export function Palette({ close }: { readonly close: () => void }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const wanted = typed.trim();
  const asked = useAskedHits(wanted);
  // What the server has found comes before what may be the id of a user, so that Enter does not open nobody's page.
  const more = asked === undefined ? [] : [...asked, ...userHits(wanted)];
  const hits = [...knownHits(wanted), ...more].slice(0, 30);
  const current = Math.min(chosen, hits.length - 1);
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    close();
    go(hit.path, hit.query);
  };
  return (
    <Dialog label="Find anything" look="palette" close={close}>
      <label class="search">
        <Icon name="find" />
        <span class="unseen">Find anything</span>
        <input
          class="input"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-hits`}
          aria-activedescendant={hits.length === 0 ? undefined : `${id}-${current}`}
          placeholder="A page, app, channel, socket id, user, device id, pubid-… …"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (by !== undefined) {
              event.preventDefault();
              setChosen((current + by + hits.length) % Math.max(hits.length, 1));
            }
            if (event.key === 'Enter') open(hits[current]);
          }}
        />
      </label>
      <HitList {...{ id, hits, current, open }} />
      <p role="status">
        {asked === undefined
          ? 'Searching …'
          : hits.length === 0
            ? `Nothing is called “${wanted}” among pages and apps, occupied channels of ${SEARCHED_APPS} apps, devices and publishes of ${SEARCHED_APPS} push instances.`
            : '↑ ↓ to choose, ↵ to open, esc to close'}
      </p>
    </Dialog>
  );
}

/** What the server finds, once the typing has paused; `undefined` until it has answered. */
function useAskedHits(wanted: string): readonly Hit[] | undefined {
  const [found, setFound] = useState<{ readonly of: string; readonly hits: readonly Hit[] }>();
  useEffect(() => {
    if (wanted === '') return undefined;
    const stopping = new AbortController();
    const timer = setTimeout(() => {
      void askedHits(wanted, stopping.signal).then((hits) => {
        if (!stopping.signal.aborted) setFound({ of: wanted, hits });
      });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [wanted]);
  if (wanted === '') return [];
  return found?.of === wanted ? found.hits : undefined;
}

interface HitListProps {
  /** The begin of the ids of the list and its options. */
  readonly id: string;
  readonly hits: readonly Hit[];
  /** The index of the selected one. */
  readonly current: number;
  readonly open: (hit: Hit) => void;
}

function HitList({ id, hits, current, open }: HitListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <div id={`${id}-hits`} class="hits" ref={list} role="listbox" aria-label="Found">
      {hits.map((hit, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above walks the list by arrow keys.
        <div
          key={`${hit.path}${hit.what}${JSON.stringify(hit.query ?? {})}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === current}
          onClick={() => open(hit)}
        >
          <Icon name={hit.icon} />
          <span class="cut">{hit.what}</span>
          <span class="where">{hit.where}</span>
        </div>
      ))}
    </div>
  );
}
