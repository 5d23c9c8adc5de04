import type { ComponentChildren } from 'preact';

/** The name of a column. Columns of figures are right-aligned. */
export type Column = string | { readonly number: string };

interface TableHeadProps {
  readonly columns: readonly Column[];
  /** Whether a last column has buttons. Its name is not shown. */
  readonly hasActions?: boolean;
}

export function TableHead({ columns, hasActions = false }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [name, look] = typeof column === 'string' ? [column] : [column.number, 'number'];
          return (
            <th key={name} scope="col" class={look}>
              {name}
            </th>
          );
        })}
        {hasActions && (
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

/** A table whose rows are cards on a narrow screen. */
export function Table({
  columns,
  children,
}: {
  readonly columns: readonly Column[];
  readonly children: ComponentChildren;
}) {
  return (
    <table class="table cards">
      <TableHead columns={columns} />
      <tbody>{children}</tbody>
    </table>
  );
}
