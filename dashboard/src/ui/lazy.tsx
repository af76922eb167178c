import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from './error-note.tsx';
import { Loading } from './loading.tsx';

/** A component whose script is loaded when it is first shown. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => VNode {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [Part, setPart] = useState<ComponentType<Props> | null>(() => loaded);
    const [error, setError] = useState<unknown>(undefined);
    const start = (): void => {
      setError(undefined);
      load().then((part) => {
        loaded = part;
        setPart(() => part);
      }, setError);
    };
    useEffect(() => {
      if (Part === null) start();
    }, []);
    if (Part !== null) return <Part {...props} />;
    return error === undefined ? <Loading /> : <ErrorNote error={error} again={start} />;
  };
}
