import { Dialog } from '../parts/dialogs/dialog.tsx';
import { commandKey, hotkeysAreOn, switchHotkeys } from '../parts/hotkeys.ts';
import { Key } from '../parts/key.tsx';
import { appPlaces, pushPlaces } from '../places/navigation.ts';

const keys: readonly (readonly [string, string])[] = [
  [`${commandKey} K`, 'Find anything'],
  ['/', 'Find, or filter the list'],
  ['g h', 'Home'],
  ...[...appPlaces, ...pushPlaces].flatMap(({ key, word }) =>
    key === undefined ? [] : [[`g ${key}`, word] as const],
  ),
  ['j k', 'Next and previous row'],
  ['↵', 'Open the row'],
  ['esc', 'Close, or follow the newest'],
  ['p', 'Pause the live list'],
  ['c', 'Clear the live list'],
  ['e', 'Send an event'],
  ['y', 'Copy a link to this view'],
  ['.', 'Copy this view as curl'],
];

/** All keys of the dashboard, and the switch for single keys. */
export function KeysHelp({ close }: { readonly close: () => void }) {
  return (
    <Dialog label="Keys" close={close}>
      <div class="stack">
        <h2>Keys</h2>
        <dl class="keys">
          {keys.map(([key, does]) => (
            <>
              <dt>
                {key.split(' ').map((each) => (
                  <Key key={each} name={each} />
                ))}
              </dt>
              <dd>{does}</dd>
            </>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={hotkeysAreOn.value}
            onChange={({ currentTarget }) => switchHotkeys(currentTarget.checked)}
          />
          Single keys do something
        </label>
      </div>
    </Dialog>
  );
}
