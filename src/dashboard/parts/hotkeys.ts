import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const KEPT_AS = 'fanfare.hotkeys';

/** Whether single keys do something. WCAG 2.1.4 asks that they can be switched off. */
export const hotkeysAreOn = signal(globalThis.localStorage?.getItem(KEPT_AS) !== 'off');

export function switchHotkeys(isOn: boolean): void {
  hotkeysAreOn.value = isOn;
  localStorage.setItem(KEPT_AS, isOn ? 'on' : 'off');
}

/** The key that goes with K to find anything, as this machine's keyboard calls it. */
export const commandKey = /Mac|iP(?:hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl';

/** By key, or by two keys one after the other: `g l`. */
export type Hotkeys = Readonly<Record<string, () => void>>;

const layers: { readonly current: Hotkeys }[] = [];

/** Adds single keys while the component is shown. The component shown last wins. */
export function useHotkeys(hotkeys: Hotkeys): void {
  const latest = useRef(hotkeys);
  latest.current = hotkeys;
  useEffect(() => {
    layers.push(latest);
    return () => {
      layers.splice(layers.indexOf(latest), 1);
    };
  }, []);
}

/** Milliseconds in which the second key of two must follow. */
const SECOND_KEY_MS = 1500;

/** Listens for single keys. `find` opens the palette, which ⌘K and Ctrl K do as well. */
export function listenForKeys(find: () => void): void {
  let first: { readonly key: string; readonly atMs: number } | undefined;
  document.addEventListener('keydown', (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      find();
      return;
    }
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!hotkeysAreOn.value && event.key !== 'Escape') return;
    if (isTypedInto(event.target) || document.querySelector('dialog[open]') !== null) return;
    const isSecond = first !== undefined && event.timeStamp - first.atMs < SECOND_KEY_MS;
    const keys = isSecond ? `${first?.key} ${event.key}` : event.key;
    first = event.key === 'g' && !isSecond ? { key: 'g', atMs: event.timeStamp } : undefined;
    const act = layers.findLast(({ current }) => current[keys] !== undefined)?.current[keys];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

function isTypedInto(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox]), textarea, select'))
  );
}
