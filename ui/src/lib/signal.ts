import { useEffect, useState } from "preact/hooks";

/** A value that tells when it changes. */
export interface Signal<T> {
  get(): T;
  set(value: T): void;
  watch(listener: (value: T) => void): () => void;
}

export function signalOf<T>(initial: T): Signal<T> {
  let current = initial;
  const listeners = new Set<(value: T) => void>();
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of [...listeners]) listener(value);
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useSignal<T>(signal: Signal<T>): T {
  const [value, setValue] = useState(signal.get());
  useEffect(() => {
    setValue(signal.get());
    return signal.watch((next) => setValue(() => next));
  }, [signal]);
  return value;
}
