"""How ``skeletonhunter bench`` measures: figures of several runs, and the machine's conditions.

In: numbers of each run, and CPU times before and after it. Out: their median and range, or why the
figure is refused. Start with ``figure``, then ``conditions``. Nothing here runs a measurement.
"""
