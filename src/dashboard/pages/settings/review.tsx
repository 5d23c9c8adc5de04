import type { SettingChange } from '../../api/answers.ts';
import { Button } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialogs/dialog.tsx';
import { counted } from '../../parts/formats.ts';
import { isObject } from '../../parts/json/json.ts';
import { TableHead } from '../../parts/table-head.tsx';

/** What a save would change. */
export function Review({
  changes,
  close,
  save,
}: {
  readonly changes: readonly SettingChange[];
  readonly close: () => void;
  readonly save: () => void;
}) {
  return (
    <Dialog label="Save these changes?" close={close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          save();
        }}
      >
        <h2>Save these changes?</h2>
        <table class="table">
          <TableHead columns={['Setting', { number: 'Now' }, { number: 'Then' }]} />
          <tbody>
            {changes.map(({ setting, before, after }) => (
              <tr key={setting}>
                <td>
                  <code>{setting}</code>
                </td>
                <td class="number muted">{shown(before)}</td>
                <td class="number">{shown(after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {changes.length === 0 && <p>Nothing would change.</p>}
        <div class="buttons">
          <Button type="submit" look="primary" disabled={changes.length === 0}>
            Save {counted(changes.length, 'change')}
          </Button>
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}

function shown(value: unknown): string {
  return value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** A change as it is written in the configuration file. JSON values are YAML too. */
export function asYaml(noun: 'app' | 'instance', id: string, change: object): string {
  const lines = (settings: object, indent: string): readonly string[] =>
    Object.entries(settings).flatMap(([name, value]: [string, unknown]) =>
      isObject(value)
        ? [`${indent}${name}:`, ...lines(value, `${indent}  `)]
        : [`${indent}${name}: ${JSON.stringify(value)}`],
    );
  const entry = [`    - id: ${JSON.stringify(id)}`, ...lines(change, '      ')];
  const above = noun === 'app' ? ['channels:', '  apps:'] : ['push:', '  instances:'];
  return [...above, ...entry].join('\n');
}

/** Where an app or instance is set, and what that means for a change. */
export function sourceWords(noun: 'app' | 'instance', source: 'configuration' | 'store'): string {
  return source === 'configuration'
    ? `This ${noun} is in the configuration file. Edit here to see what to write there.`
    : 'A change is in effect when it is saved, and survives a restart.';
}
