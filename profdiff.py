import pstats,sys
def load(f):
    d={}
    for (file,line,name),(cc,nc,tt,ct,_) in pstats.Stats(f).stats.items():
        k=(file.replace('/srv/w/old/','').replace('/srv/w/cost/','').replace('/work/main/',''),name)
        a=d.setdefault(k,[0,0,0]); a[0]+=nc; a[1]+=tt; a[2]+=ct
    return d
a,b=load('/tmp/cost/prof.old'),load('/tmp/cost/prof.cost')
print('calls',sum(v[0] for v in a.values()),sum(v[0] for v in b.values()))
keys=set(a)|set(b)
rows=[(b.get(k,[0,0,0])[1]-a.get(k,[0,0,0])[1],a.get(k),b.get(k),k) for k in keys]
rows.sort(key=lambda r:-abs(r[0]))
for r in rows[:30]: print(f"{r[0]*1000:8.1f}ms",r[1] and (r[1][0],round(r[1][1],3)),r[2] and (r[2][0],round(r[2][1],3)),r[3])
print()
rows=[((b.get(k,[0,0,0])[0]-a.get(k,[0,0,0])[0]),k,a.get(k),b.get(k)) for k in keys]
rows.sort(key=lambda r:-abs(r[0]))
for r in rows[:25]: print(r[0],r[1])
