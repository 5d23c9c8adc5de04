import { useState } from 'preact/hooks';
import { copy } from '../controls.tsx';

/** How many entries of one object or list are drawn before a click shows more. */
const DRAWN = 100;

/** JSON as a tree that folds. A click on a name copies the path to it. */
export function JsonTree({ value }: { readonly value: unknown }) {
  return (
    <div class="json">
      <Node value={value} path="" depth={0} />
    </div>
  );
}

interface NodeProps {
  readonly name?: string;
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
}

function Node({ name, value, path, depth }: NodeProps) {
  const [isOpen, setOpen] = useState(depth < 3);
  const [drawn, setDrawn] = useState(DRAWN);
  const entries = typeof value === 'object' ? Object.entries(value ?? {}) : [];
  const isList = Array.isArray(value);
  const [begin, end] = isList ? '[]' : '{}';
  const isBranch = entries.length > 0;
  return (
    <div>
      {isBranch && depth > 0 && (
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Fold' : 'Unfold'} ${path}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? '▾' : '▸'}
        </button>
      )}
      {name !== undefined && (
        <>
          <button type="button" class="name" title={`Copy ${path}`} onClick={() => void copy(path)}>
            {name}
          </button>
          {': '}
        </>
      )}
      {isBranch ? (
        <span class="muted">{isOpen ? begin : `${begin} ${entries.length} ${end}`}</span>
      ) : (
        <Leaf value={value} />
      )}
      {isBranch && isOpen && (
        <>
          <ul>
            {entries.slice(0, drawn).map(([key, each]) => (
              <li key={key}>
                <Node
                  name={key}
                  value={each}
                  path={childPath(path, key, isList)}
                  depth={depth + 1}
                />
              </li>
            ))}
            {entries.length > drawn && (
              <li>
                <button type="button" onClick={() => setDrawn(drawn * 10)}>
                  … {entries.length - drawn} more
                </button>
              </li>
            )}
          </ul>
          <span class="muted">{end}</span>
        </>
      )}
    </div>
  );
}

/** A value without entries. */
function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') return <span class="string">{JSON.stringify(value)}</span>;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[]' : '{}';
  return <span class={typeof value === 'number' ? 'number' : 'word'}>{String(value)}</span>;
}

function childPath(path: string, key: string, isList: boolean): string {
  if (isList) return `${path}[${key}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
